//! An API server that answers from a script, for the tests of this crate.

use std::{
    collections::VecDeque,
    convert::Infallible,
    io,
    sync::{Arc, Mutex},
    time::Duration,
};

use axum::{
    Router,
    body::Body,
    extract::{Request, State},
    response::Response,
};
use futures::{StreamExt, stream};
use serde_json::{Value, json};
use tokio::{net::TcpListener, sync::mpsc, task::JoinHandle};

use crate::rest::Rest;

/// One answer.
pub(crate) enum Reply {
    /// A status code and a body.
    Json(u16, Value),
    /// The same with seconds to wait before asking again.
    Busy(u64),
    /// Lines, and what follows them.
    Lines(Vec<Value>, Then),
    /// The connection breaks before any answer.
    Nothing,
}

/// How a stream goes on after its lines.
pub(crate) enum Then {
    /// It ends.
    End,
    /// The connection breaks.
    Break,
    /// It stays open and silent.
    Hold,
}

/// What was asked.
#[derive(Debug)]
pub(crate) struct Asked {
    /// `GET /api/v1/nodes?limit=500`.
    pub(crate) line: String,
    pub(crate) content_type: String,
    pub(crate) body: Value,
}

/// See the [module](self). When the script is at its end, answers are silence.
pub(crate) struct TestServer {
    url: String,
    pub(crate) asked: mpsc::UnboundedReceiver<Asked>,
    task: JoinHandle<()>,
}

struct Script {
    replies: Mutex<VecDeque<Reply>>,
    asked: mpsc::UnboundedSender<Asked>,
}

impl TestServer {
    pub(crate) async fn start(replies: Vec<Reply>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let (tell, asked) = mpsc::unbounded_channel();
        let script = Arc::new(Script { replies: Mutex::new(replies.into()), asked: tell });
        let router = Router::new().fallback(answer).with_state(script);
        let task = tokio::spawn(async move {
            axum::serve(listener, router).await.unwrap();
        });
        Self { url, asked, task }
    }

    pub(crate) fn rest(&self) -> Rest {
        let mut config = kube::Config::new(self.url.parse().unwrap());
        config.default_retry = false;
        Rest::new(kube::Client::try_from(config).unwrap(), Duration::from_secs(20))
    }

    /// Where it listens.
    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    /// The next request.
    pub(crate) async fn asked(&mut self) -> Asked {
        self.asked.recv().await.unwrap()
    }
}

impl Drop for TestServer {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn answer(
    State(script): State<Arc<Script>>,
    request: Request,
) -> Result<Response, Infallible> {
    let line = format!("{} {}", request.method(), request.uri());
    let content_type = request.headers().get("content-type");
    let content_type = content_type.and_then(|it| it.to_str().ok()).unwrap_or_default().to_owned();
    let body = axum::body::to_bytes(request.into_body(), usize::MAX).await.unwrap();
    let body = serde_json::from_slice(&body).unwrap_or(Value::Null);
    let reply = script.replies.lock().unwrap().pop_front();
    let _ = script.asked.send(Asked { line, content_type, body });
    // What stands before the break is on its way when it breaks.
    let broken = || {
        stream::once(async {
            tokio::task::yield_now().await;
            Err(io::Error::other("broken"))
        })
    };
    let response = Response::builder();
    Ok(match reply {
        None => std::future::pending().await,
        Some(Reply::Json(status, body)) => {
            response.status(status).body(Body::from(body.to_string())).unwrap()
        }
        Some(Reply::Busy(seconds)) => {
            let response = response.status(429).header("retry-after", seconds);
            response.body(Body::from("too many requests")).unwrap()
        }
        Some(Reply::Nothing) => {
            let body: Body = Body::from_stream(broken().map(|it: Result<String, _>| it));
            response.header("content-length", 7).body(body).unwrap()
        }
        Some(Reply::Lines(lines, then)) => {
            let lines = stream::iter(lines).map(|it| Ok::<_, io::Error>(format!("{it}\n")));
            let body = match then {
                Then::End => Body::from_stream(lines),
                Then::Break => Body::from_stream(lines.chain(broken())),
                Then::Hold => Body::from_stream(lines.chain(stream::pending())),
            };
            response.body(body).unwrap()
        }
    })
}

/// A refusal as the API server writes it.
pub(crate) fn refusal(code: u16, reason: &str) -> Reply {
    let message = format!("refused: {reason}");
    Reply::Json(
        code,
        json!({"kind": "Status", "status": "Failure", "code": code, "reason": reason,
               "message": message}),
    )
}
