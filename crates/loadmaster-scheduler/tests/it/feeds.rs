//! A plugin that scores by what a source elsewhere says, and a source that goes away.

use rustix::process::Signal;
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    sync::watch,
    task::JoinSet,
};

use crate::kit::{Lab, Scheduler, config_file};

/// An HTTP server that says one thing, or nothing.
struct Metrics {
    url: String,
    /// `None`: it takes connections and never answers.
    says: watch::Sender<Option<Value>>,
    _task: JoinSet<()>,
}

impl Metrics {
    async fn start(says: Value) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/load", listener.local_addr().unwrap());
        let (says, said) = watch::channel(Some(says));
        let mut task = JoinSet::new();
        task.spawn(async move {
            let mut connections = JoinSet::new();
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                connections.spawn(answer(stream, said.clone()));
            }
        });
        Self { url, says, _task: task }
    }

    fn say(&self, says: Option<Value>) {
        self.says.send_replace(says);
    }
}

/// Answers one request and hangs up.
async fn answer(mut stream: TcpStream, said: watch::Receiver<Option<Value>>) {
    let mut asked = Vec::new();
    while !asked.ends_with(b"\r\n\r\n") {
        asked.push(stream.read_u8().await.unwrap());
    }
    let says = said.borrow().as_ref().map(Value::to_string);
    let Some(body) = says else { return std::future::pending().await };
    let head =
        format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\nconnection: close\r\n", body.len());
    let _ = stream.write_all(format!("{head}\r\n{body}").as_bytes()).await;
}

#[tokio::test]
async fn a_source_that_goes_away_holds_up_those_alone_whose_plugin_says_so() {
    let lab = Lab::start(1000).await;
    lab.add_node("n1");
    lab.add_node("n2");
    let metrics = Metrics::start(json!({"n1": 9, "n2": 1})).await;
    let plugins = "{name: PrioritySort}, {name: DefaultBinder}, {name: TaintToleration}";
    let file = config_file(&format!(
        "profiles:
- schedulerName: measured
  plugins:
    multiPoint:
      enabled: [{plugins}, {{name: CustomMetric, weight: 10}}]
      disabled: [{{name: '*'}}]
  pluginConfig:
  - name: CustomMetric
    args: {{url: '{}', interval: 1s, timeout: 1s, maxAge: 3s, onStale: Refuse}}
- schedulerName: plain
  plugins:
    multiPoint:
      enabled: [{plugins}]
      disabled: [{{name: '*'}}]
",
        metrics.url
    ));
    let path = file.path().to_str().unwrap();
    let mut scheduler = Scheduler::of(&lab, &["--config", path]).await;
    lab.add_pod("first", "measured", json!({}));
    assert_eq!(lab.node_of("first").await, "n2");
    metrics.say(None);
    scheduler.says("the feed cannot be fetched").await;
    scheduler.says("the feed is stale").await;
    lab.add_pod("second", "measured", json!({}));
    let refused = lab.event("second", "FailedScheduling").await;
    let note = refused["message"].as_str().unwrap();
    assert!(note.contains("are stale"), "{note}");
    lab.add_pod("other", "plain", json!({}));
    lab.node_of("other").await;
    metrics.say(Some(json!({"n1": 1, "n2": 9})));
    scheduler.says("the feed is fetched again").await;
    assert_eq!(lab.node_of("second").await, "n1");
    let (status, _) = scheduler.stop(Signal::TERM).await;
    assert_eq!(status.code(), Some(0));
}
