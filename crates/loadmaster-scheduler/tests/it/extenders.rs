//! A rule that runs in a process of its own.

use serde_json::{Map, Value, json};
use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader},
    net::{TcpListener, TcpStream},
    task::JoinSet,
};

use crate::kit::{Lab, Scheduler, config_file};

#[tokio::test]
async fn an_extender_refuses_nodes_in_its_own_words() {
    let mut tasks = JoinSet::new();
    let url = extender(&mut tasks).await;
    let config = config_file(&format!(
        "extenders:\n- {{urlPrefix: '{url}', filterVerb: filter, prioritizeVerb: prioritize, \
         weight: 1, nodeCacheCapable: true}}\n"
    ));
    let lab = Lab::start(1000).await;
    lab.add_node("n1");
    let _scheduler = Scheduler::of(&lab, &["--config", config.path().to_str().unwrap()]).await;
    lab.add_pod("web", "default-scheduler", json!({}));
    let event = lab.event("web", "FailedScheduling").await;
    let message = event["message"].as_str().unwrap();
    assert!(message.starts_with("0/1 nodes are available: 1 not after dark."), "{message}");
    lab.add_node("n2");
    assert_eq!(lab.node_of("web").await, "n2");
}

/// Answers filter calls by letting `n2` alone pass, and every other call by failing.
async fn extender(tasks: &mut JoinSet<()>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/rules", listener.local_addr().unwrap());
    tasks.spawn(async move {
        loop {
            answer(listener.accept().await.unwrap().0).await;
        }
    });
    url
}

/// Answers the one call of a connection.
async fn answer(stream: TcpStream) {
    let mut stream = BufReader::new(stream);
    let (mut head, mut length) = (Vec::new(), 0);
    loop {
        let mut line = String::new();
        stream.read_line(&mut line).await.unwrap();
        let line = line.trim_end().to_ascii_lowercase();
        if let Some(it) = line.strip_prefix("content-length: ") {
            length = it.parse().unwrap();
        }
        if line.is_empty() {
            break;
        }
        head.push(line);
    }
    let mut body = vec![0; length];
    stream.read_exact(&mut body).await.unwrap();
    let args: Value = serde_json::from_slice(&body).unwrap();
    let (status, answer) = if head[0].starts_with("post /rules/filter ") {
        ("200 OK", filtered(&args).to_string())
    } else {
        ("500 Internal Server Error", String::new())
    };
    let length = answer.len();
    let head =
        format!("HTTP/1.1 {status}\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n");
    stream.write_all(format!("{head}{answer}").as_bytes()).await.unwrap();
    stream.shutdown().await.unwrap();
}

fn filtered(args: &Value) -> Value {
    let names = args["NodeNames"].as_array().unwrap().iter().filter_map(Value::as_str);
    let (passed, refused): (Vec<_>, Vec<_>) = names.partition(|it| *it == "n2");
    let failed: Map<_, _> =
        refused.into_iter().map(|it| (it.to_owned(), json!("not after dark"))).collect();
    json!({"NodeNames": passed, "FailedNodes": failed})
}
