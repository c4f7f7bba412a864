//! A cluster that knows two tokens, one reader of metrics and its authorities; and a client of one's
//! own certificate.

use std::{
    convert::Infallible,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
};

use http::{Request, Response, StatusCode};
use http_body_util::{BodyExt as _, Full};
use hyper::{
    body::{Bytes, Incoming},
    server::conn::http1,
    service::service_fn,
};
use hyper_util::rt::TokioIo;
use loadmaster_k8s::{
    client::{ClientOptions, connect},
    rest::Rest,
};
use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use serde_json::{Value, json};
use tokio::{net::TcpListener, task::JoinSet};

/// See the [module](self).
pub(crate) struct Cluster {
    pub(crate) rest: Rest,
    told: Arc<Told>,
    _task: JoinSet<()>,
}

struct Told {
    reviews: AtomicUsize,
    config_map: Value,
}

impl Cluster {
    /// `config_map` is what it tells of its authorities; null is nothing.
    pub(crate) async fn start(config_map: Value) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let told = Arc::new(Told { reviews: AtomicUsize::new(0), config_map });
        let mut task = JoinSet::new();
        let shared = Arc::clone(&told);
        task.spawn(async move {
            let mut connections = JoinSet::new();
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                let told = Arc::clone(&shared);
                connections.spawn(async move {
                    let service = service_fn(move |it| answer(it, Arc::clone(&told)));
                    let io = TokioIo::new(stream);
                    let _ = http1::Builder::new().serve_connection(io, service).await;
                });
            }
        });
        let options = ClientOptions { master: Some(url), ..ClientOptions::default() };
        let rest = connect(&options, std::time::Duration::from_secs(20)).await.unwrap().rest;
        Self { rest, told, _task: task }
    }

    /// How often it was asked for a review.
    pub(crate) fn reviews(&self) -> usize {
        self.told.reviews.load(Relaxed)
    }
}

async fn answer(
    request: Request<Incoming>,
    told: Arc<Told>,
) -> Result<Response<Full<Bytes>>, Infallible> {
    let path = request.uri().path().to_owned();
    let body = request.into_body().collect().await.unwrap().to_bytes();
    let question: Value = serde_json::from_slice(&body).unwrap_or(Value::Null);
    let answer = match path.rsplit('/').next().unwrap() {
        "version" => json!({"gitVersion": "v1.36.2"}),
        "tokenreviews" => {
            told.reviews.fetch_add(1, Relaxed);
            match question["spec"]["token"].as_str().unwrap() {
                "good" => json!({"status": {"authenticated": true, "user": {
                    "username": "prometheus", "uid": "7", "groups": ["monitoring"],
                    "extra": {"pod": ["p"]}}}}),
                "broken" => Value::Null,
                "slow" => std::future::pending().await,
                _ => json!({"status": {"authenticated": false, "error": "no such token"}}),
            }
        }
        "subjectaccessreviews" => {
            told.reviews.fetch_add(1, Relaxed);
            let spec = &question["spec"];
            let reader = spec["user"] == "prometheus"
                && spec["uid"] == "7"
                && spec["groups"] == json!(["monitoring", "system:authenticated"])
                && spec["extra"] == json!({"pod": ["p"]});
            let metrics =
                spec["nonResourceAttributes"] == json!({"path": "/metrics", "verb": "get"});
            let reason = if spec["user"] == "jane" { "no role" } else { "" };
            json!({"status": {"allowed": reader && metrics, "reason": reason}})
        }
        "extension-apiserver-authentication" => told.config_map.clone(),
        other => panic!("asked for {other}"),
    };
    let status = if answer.is_null() { StatusCode::INTERNAL_SERVER_ERROR } else { StatusCode::OK };
    let mut response = Response::new(Full::new(Bytes::from(answer.to_string())));
    *response.status_mut() = status;
    Ok(response)
}

/// An authority that certifies clients.
pub(crate) struct Authority {
    pub(crate) pem: String,
    issuer: Issuer<'static, KeyPair>,
}

/// A client's certificate and its key.
pub(crate) struct Identity {
    pub(crate) certificate: CertificateDer<'static>,
    pub(crate) key: PrivateKeyDer<'static>,
}

impl Authority {
    pub(crate) fn new() -> Self {
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().unwrap();
        let pem = params.self_signed(&key).unwrap().pem();
        Self { pem, issuer: Issuer::new(params, key) }
    }

    pub(crate) fn certify(&self, name: &str, group: &str) -> Identity {
        let mut params = CertificateParams::default();
        params.distinguished_name.push(DnType::CommonName, name);
        params.distinguished_name.push(DnType::OrganizationName, group);
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
        let key = KeyPair::generate().unwrap();
        let certificate = params.signed_by(&key, &self.issuer).unwrap();
        let key = PrivatePkcs8KeyDer::from(key.serialize_der()).into();
        Identity { certificate: certificate.der().clone(), key }
    }
}
