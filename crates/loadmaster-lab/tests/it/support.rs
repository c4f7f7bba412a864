//! A running server and ways to talk to it.

use kube::{Client, Config};
use loadmaster_lab::resources::Collection;
use loadmaster_lab::server::{LabServer, Options};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader, Lines};
use tokio::net::TcpStream;
use tokio::net::tcp::OwnedReadHalf;

/// A server with a namespace `ns`, and a client of it.
pub(crate) async fn lab() -> (LabServer, Client) {
    lab_with(Options::default()).await
}

/// The same with other options.
pub(crate) async fn lab_with(options: Options) -> (LabServer, Client) {
    let server = LabServer::start(options).await.unwrap();
    let client = Client::try_from(Config::new(server.url().parse().unwrap())).unwrap();
    make(&server, Collection::NAMESPACES, "", json!({"metadata": {"name": "ns"}}));
    (server, client)
}

/// Creates an object inside the server's process.
pub(crate) fn make(server: &LabServer, collection: Collection, namespace: &str, object: Value) {
    server.api().create(collection.resource(), namespace, object, false).unwrap();
}

/// A pod that no scheduler looks at.
pub(crate) fn pod(name: &str) -> Value {
    json!({
        "metadata": {"name": name},
        "spec": {
            "schedulerName": "wire-none",
            "containers": [{"name": "c", "image": "registry.k8s.io/pause:3.9"}],
        },
    })
}

/// Sends one request as it is, without a client's retries, and answers the HTTP status and the
/// body, `null` when that is no JSON.
pub(crate) async fn send(
    server: &LabServer,
    method: &str,
    url: &str,
    headers: &[(&str, &str)],
    body: Vec<u8>,
) -> (u16, Value) {
    let mut stream = TcpStream::connect(server.address()).await.unwrap();
    let headers: String =
        headers.iter().map(|(name, value)| [name, ": ", value, "\r\n"].concat()).collect();
    let length = body.len();
    let request = format!(
        "{method} {url} HTTP/1.1\r\nHost: lab\r\nConnection: close\r\n{headers}\
         Content-Length: {length}\r\n\r\n"
    );
    stream.write_all(request.as_bytes()).await.unwrap();
    stream.write_all(&body).await.unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await.unwrap();
    let head = answer.windows(4).position(|it| it == b"\r\n\r\n").unwrap();
    let status = std::str::from_utf8(&answer[9..12]).unwrap().parse().unwrap();
    (status, serde_json::from_slice(&answer[head + 4..]).unwrap_or(Value::Null))
}

/// A watch read line by line from the socket, as it arrives.
pub(crate) struct Events(Lines<BufReader<OwnedReadHalf>>);

impl Events {
    /// Opens a watch; the server has begun it when this returns.
    pub(crate) async fn open(server: &LabServer, url: &str, accept: &str) -> Self {
        let stream = TcpStream::connect(server.address()).await.unwrap();
        let (read, mut write) = stream.into_split();
        let request = format!("GET {url} HTTP/1.1\r\nHost: lab\r\nAccept: {accept}\r\n\r\n");
        write.write_all(request.as_bytes()).await.unwrap();
        // The socket stays open for writing as long as it is read.
        write.forget();
        let mut lines = BufReader::new(read).lines();
        while lines.next_line().await.unwrap().is_some_and(|it| !it.is_empty()) {}
        Self(lines)
    }

    /// The next event; `None` when the server ended the stream.
    pub(crate) async fn next(&mut self) -> Option<Value> {
        while let Some(line) = self.0.next_line().await.unwrap() {
            if line.starts_with('{') {
                return Some(serde_json::from_str(&line).unwrap());
            }
            // The chunk of length zero is the end.
            if line == "0" {
                return None;
            }
        }
        None
    }

    /// Type and name of the next event.
    pub(crate) async fn told(&mut self) -> (String, String) {
        let event = self.next().await.unwrap();
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        (text(&event["type"]), text(&event["object"]["metadata"]["name"]))
    }
}

/// What [`Events::told`] answers.
pub(crate) fn event(kind: &str, name: &str) -> (String, String) {
    (kind.to_owned(), name.to_owned())
}
