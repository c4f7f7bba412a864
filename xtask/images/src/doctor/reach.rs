//! Whether a registry or a cluster answers at its address, and is one.

use std::time::Duration;

use reqwest::{
    Client, ClientBuilder, Response, StatusCode,
    header::{CONTENT_TYPE, HeaderMap, WWW_AUTHENTICATE},
    redirect::Policy,
};
use serde_json::Value;

use super::kubeconfig::{self, Server, Trust};
use crate::transport::{self, Endpoint};

/// How long an address may take to answer.
const PATIENCE: Duration = Duration::from_secs(2);
/// What registries say of themselves; see the specification of Docker's registry API, version 2.
const VERSION: &str = "docker-distribution-api-version";

/// What came of reaching for something.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reached {
    /// Where.
    pub address: String,
    /// Why it does not answer, or not as it should.
    pub fault: Option<String>,
}

/// Asks a registry for `GET /v2/`, as the distribution specification has it for that purpose.
pub async fn registry(endpoint: &Endpoint) -> Reached {
    let url = format!("{}/v2/", endpoint.url());
    let fault = match get(&url, builder(&url)).await {
        Ok(answer) if is_registry(answer.status(), answer.headers()) => None,
        Ok(answer) => Some(format!("it is no registry: GET /v2/ answers {}", answer.status())),
        Err(fault) => Some(fault),
    };
    Reached { address: endpoint.authority().to_owned(), fault }
}

/// Asks the cluster that kubectl would talk to for `GET /version`, which everybody may read.
pub async fn cluster() -> Reached {
    match kubeconfig::server() {
        Ok(server) => {
            let fault = version(&server).await.err();
            Reached { address: server.url, fault }
        }
        Err(fault) => Reached { address: "kubectl's cluster".to_owned(), fault: Some(fault) },
    }
}

async fn version(server: &Server) -> Result<(), String> {
    let url = format!("{}/version", server.url.trim_end_matches('/'));
    let builder = match &server.trust {
        Trust::System => builder(&url),
        Trust::All => builder(&url).tls_danger_accept_invalid_certs(true),
        Trust::Authority(pem) => {
            let authorities = reqwest::Certificate::from_pem_bundle(pem);
            let authorities = authorities.map_err(|it| format!("its authority: {}", root(&it)))?;
            builder(&url).tls_certs_only(authorities)
        }
    };
    let answer = get(&url, builder).await?;
    let status = answer.status();
    let body: Value = answer.json().await.unwrap_or_default();
    if is_api_server(status, &body) {
        Ok(())
    } else {
        Err(format!("it is no API server of Kubernetes: GET /version answers {status}"))
    }
}

/// What the base of a registry answers: that it speaks the protocol, or that it wants to know who asks.
fn is_registry(status: StatusCode, headers: &HeaderMap) -> bool {
    let json = headers.get(CONTENT_TYPE).and_then(|it| it.to_str().ok());
    let json = json.is_some_and(|it| it.starts_with("application/json"));
    match status {
        StatusCode::OK => json || headers.contains_key(VERSION),
        StatusCode::UNAUTHORIZED => headers.contains_key(WWW_AUTHENTICATE),
        _ => false,
    }
}

/// A version, or the API's own form of a refusal.
fn is_api_server(status: StatusCode, body: &Value) -> bool {
    match status {
        StatusCode::OK => body["gitVersion"].is_string(),
        StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => body["kind"] == "Status",
        _ => false,
    }
}

/// A client that asks `url` itself; what is spoken to without TLS is near, and no proxy may come between.
fn builder(url: &str) -> ClientBuilder {
    transport::install_cryptography();
    let builder = Client::builder().redirect(Policy::none()).timeout(PATIENCE);
    if url.starts_with("http://") { builder.no_proxy() } else { builder }
}

async fn get(url: &str, builder: ClientBuilder) -> Result<Response, String> {
    let client = builder.build().map_err(|it| root(&it))?;
    client.get(url).send().await.map_err(|it| root(&it))
}

/// The cause that says most.
fn root(error: &reqwest::Error) -> String {
    if error.is_timeout() {
        return format!("no answer within {} s", PATIENCE.as_secs());
    }
    let mut cause: &dyn std::error::Error = error;
    while let Some(next) = cause.source() {
        cause = next;
    }
    cause.to_string()
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeMap, net::SocketAddr};

    use axum::{Json, Router, http::HeaderName, routing::get};
    use serde_json::json;
    use tokio::net::TcpListener;

    use super::*;

    async fn serve(router: Router) -> SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        tokio::spawn(async { axum::serve(listener, router).await.unwrap() });
        address
    }

    async fn reached(address: &str) -> Option<String> {
        registry(&Endpoint::new(address, &BTreeMap::new(), &[])).await.fault
    }

    #[tokio::test]
    async fn a_registry_answers_as_one() {
        let version = [(HeaderName::from_static(VERSION), "registry/2.0")];
        let open = Router::new().route("/v2/", get(move || async move { (version, "") }));
        let open = serve(open).await.to_string();
        assert_eq!(reached(&open).await, None);
        let closed = (StatusCode::UNAUTHORIZED, [(WWW_AUTHENTICATE, "Bearer realm=\"x\"")]);
        let closed = Router::new().route("/v2/", get(move || async move { closed }));
        assert_eq!(reached(&serve(closed).await.to_string()).await, None);
    }

    #[tokio::test]
    async fn what_merely_listens_is_no_registry() {
        let web = serve(Router::new().route("/", get(|| async { "welcome" }))).await.to_string();
        let fault = reached(&web).await.unwrap();
        assert!(fault.contains("no registry: GET /v2/ answers 404"), "{fault}");
        let closed = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
        let fault = reached(&closed.to_string()).await.unwrap();
        assert!(fault.contains("refused"), "{fault}");
    }

    #[tokio::test]
    async fn an_api_server_tells_its_version() {
        let one = async |body: Value| {
            let router = Router::new().route("/version", get(|| async { Json(body) }));
            let url = format!("http://{}/", serve(router).await);
            version(&Server { url, trust: Trust::System }).await
        };
        assert_eq!(one(json!({"gitVersion": "v1.36.2"})).await, Ok(()));
        let fault = one(json!({"version": "3"})).await.unwrap_err();
        assert!(fault.contains("no API server of Kubernetes"), "{fault}");
        let refusal = json!({"kind": "Status", "code": 403});
        assert!(is_api_server(StatusCode::FORBIDDEN, &refusal));
        assert!(!is_api_server(StatusCode::FORBIDDEN, &json!("go away")));
    }
}
