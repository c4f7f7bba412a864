//! Probes: whether a container started, lives and is ready.
//!
//! HTTP and HTTPS requests and connections to ports are made as a kubelet makes them; `exec` and
//! `grpc` probes are taken as passed, since nothing can enter a container here.
//!
//! Source: `pkg/kubelet/prober` and `pkg/probe` 1.36.

use std::time::Duration;

use serde_json::Value;
use tokio::net::TcpStream;

use super::http::{HttpError, Trust, get};
use crate::values::list;

/// What a probe is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Startup,
    Liveness,
    Readiness,
}

impl Kind {
    /// The member of a container that describes it.
    pub(super) fn member(self) -> &'static str {
        match self {
            Self::Startup => "startupProbe",
            Self::Liveness => "livenessProbe",
            Self::Readiness => "readinessProbe",
        }
    }

    /// Its name in events.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Startup => "Startup",
            Self::Liveness => "Liveness",
            Self::Readiness => "Readiness",
        }
    }
}

/// What came of one request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Report {
    pub(super) kind: Kind,
    /// Why the request failed, if it did.
    pub(super) failure: Option<String>,
    /// The verdict, where enough requests agree.
    pub(super) healthy: Option<bool>,
}

/// A probe of one container.
#[derive(Clone, Debug)]
pub(super) struct Probe {
    kind: Kind,
    spec: Value,
    container: Value,
    ip: String,
    successes: i64,
    failures: i64,
    first: bool,
}

impl Probe {
    /// The container's probe of that kind, if it has one.
    pub(super) fn of(kind: Kind, container: &Value, ip: &str) -> Option<Self> {
        let spec = container.get(kind.member()).filter(|it| it.is_object())?.clone();
        Some(Self {
            kind,
            spec,
            container: container.clone(),
            ip: ip.to_owned(),
            successes: 0,
            failures: 0,
            first: true,
        })
    }

    fn seconds(&self, member: &str, default: u64) -> Duration {
        Duration::from_secs(self.spec[member].as_u64().unwrap_or(default))
    }

    /// Waits for the time of the next request and makes it.
    pub(super) async fn next(&mut self) -> Report {
        let pause = if self.first {
            self.seconds("initialDelaySeconds", 0)
        } else {
            self.seconds("periodSeconds", 10).max(Duration::from_secs(1))
        };
        // A process that has just been started is not listening yet: the first request would fail
        // and the second come a whole period later.
        tokio::time::sleep(pause.max(FIRST_PAUSE)).await;
        self.first = false;
        let patience = self.seconds("timeoutSeconds", 1).max(Duration::from_secs(1));
        let outcome = self.ask(patience).await;
        self.judge(outcome)
    }

    /// Counts a request's outcome.
    fn judge(&mut self, outcome: Result<(), String>) -> Report {
        let threshold =
            |member: &str, default| self.spec[member].as_i64().unwrap_or(default).max(1);
        let (succeed, fail) = (threshold("successThreshold", 1), threshold("failureThreshold", 3));
        let (kind, failure) = (self.kind, outcome.err());
        if failure.is_none() {
            (self.successes, self.failures) = (self.successes + 1, 0);
        } else {
            (self.successes, self.failures) = (0, self.failures + 1);
        }
        let healthy = match failure {
            None => (self.successes >= succeed).then_some(true),
            Some(_) => (self.failures >= fail).then_some(false),
        };
        Report { kind, failure, healthy }
    }

    async fn ask(&self, patience: Duration) -> Result<(), String> {
        if let Some(request) = self.spec.get("httpGet").filter(|it| it.is_object()) {
            return self.ask_http(request, patience).await;
        }
        if let Some(socket) = self.spec.get("tcpSocket").filter(|it| it.is_object()) {
            let address = (self.host(socket), self.port(socket)?);
            let connected = tokio::time::timeout(patience, TcpStream::connect(address)).await;
            let (host, port) = (self.host(socket), self.port(socket)?);
            return match connected {
                Ok(Ok(_)) => Ok(()),
                Ok(Err(error)) => Err(format!("dial tcp {host}:{port}: connect: {error}")),
                Err(_) => Err(format!("dial tcp {host}:{port}: i/o timeout")),
            };
        }
        Ok(())
    }

    async fn ask_http(&self, request: &Value, patience: Duration) -> Result<(), String> {
        let scheme = if request["scheme"] == "HTTPS" { "https" } else { "http" };
        let path = request["path"].as_str().unwrap_or("/");
        let slash = if path.starts_with('/') { "" } else { "/" };
        let url = format!("{scheme}://{}:{}{slash}{path}", self.host(request), self.port(request)?);
        let mut headers = vec![("user-agent", "kube-probe/1.36"), ("accept", "*/*")];
        for header in list(request, "/httpHeaders") {
            if let (Some(name), Some(value)) = (header["name"].as_str(), header["value"].as_str()) {
                headers.push((name, value));
            }
        }
        let answer = tokio::time::timeout(patience, get(&url, &headers, Trust::Anyone)).await;
        let answer = answer.unwrap_or(Err(HttpError::Late));
        let answer = answer.map_err(|error| format!("Get {url:?}: {error}"))?;
        match answer.status().as_u16() {
            200..=399 => Ok(()),
            code => Err(format!("HTTP probe failed with statuscode: {code}")),
        }
    }

    fn host(&self, target: &Value) -> String {
        target["host"].as_str().filter(|it| !it.is_empty()).unwrap_or(&self.ip).to_owned()
    }

    /// The port by number, or by the name that the container gives it.
    fn port(&self, target: &Value) -> Result<u16, String> {
        let port = &target["port"];
        let named = || {
            let ports = list(&self.container, "/ports");
            ports.iter().find(|it| it["name"] == *port)?["containerPort"].as_u64()
        };
        let number = port.as_u64().or_else(|| port.as_str()?.parse().ok()).or_else(named);
        let number = number.and_then(|it| u16::try_from(it).ok());
        number.ok_or_else(|| format!("couldn't find port: {port}"))
    }
}

/// The shortest wait before a request.
const FIRST_PAUSE: Duration = Duration::from_millis(200);

#[cfg(test)]
mod tests {
    use axum::Router;
    use axum::routing::get;
    use serde_json::json;

    use super::*;

    fn probe(spec: &Value) -> Probe {
        let container =
            json!({"ports": [{"name": "web", "containerPort": 8080}], "livenessProbe": spec});
        Probe::of(Kind::Liveness, &container, "127.0.0.1").unwrap()
    }

    #[test]
    fn so_many_agree_before_there_is_a_verdict() {
        let mut probe = probe(&json!({"failureThreshold": 2, "successThreshold": 2}));
        let fail = || Err("no".to_owned());
        let verdicts: Vec<_> = [Ok(()), Ok(()), fail(), Ok(()), fail(), fail(), Ok(())]
            .into_iter()
            .map(|it| probe.judge(it).healthy)
            .collect();
        assert_eq!(verdicts, [None, Some(true), None, None, None, Some(false), None]);
    }

    #[test]
    fn ports_have_names_and_numbers() {
        let probe = probe(&json!({}));
        let port = |port: Value| probe.port(&json!({"port": port}));
        assert_eq!(port(json!("web")), Ok(8080));
        assert_eq!(port(json!(10259)), Ok(10259));
        assert_eq!(port(json!("none")), Err("couldn't find port: \"none\"".to_owned()));
    }

    #[tokio::test]
    async fn answers_below_four_hundred_are_well() {
        let broken = || async { http::StatusCode::INTERNAL_SERVER_ERROR };
        let router = Router::new().route("/ok", get(|| async { "ok" })).route("/bad", get(broken));
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let server = tokio::spawn(async move { axum::serve(listener, router).await });
        let ask = async |path: &str| {
            let spec = json!({"httpGet": {"path": path, "port": port}});
            probe(&spec).ask(Duration::from_secs(5)).await
        };
        assert_eq!(ask("/ok").await, Ok(()));
        let failure = Err("HTTP probe failed with statuscode: 500".to_owned());
        assert_eq!(ask("bad").await, failure);
        server.abort();
        let _ = server.await;
        let refused = ask("/ok").await.unwrap_err();
        assert!(refused.contains("connect: Connection refused"), "{refused}");
    }
}
