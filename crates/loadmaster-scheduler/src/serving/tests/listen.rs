use std::{fs, sync::Arc, time::Duration};

use rustls::{
    ClientConfig, RootCertStore,
    crypto::ring,
    pki_types::{CertificateDer, ServerName, pem::PemObject},
};
use serde_json::Value;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
    task::JoinSet,
};
use tokio_rustls::{TlsAcceptor, TlsConnector};
use tokio_util::sync::CancellationToken;

use super::{
    cluster::{Authority, Cluster, Identity},
    flags,
};
use crate::serving::{
    Board, access::Access, certificates::Certificates, health::Health, listen, listen::Limits,
    route::Routes,
};

/// Something that is served on loopback, until it is dropped.
struct Served {
    address: String,
    _task: JoinSet<()>,
}

async fn serve(tls: Option<TlsAcceptor>, access: Option<Arc<Access>>, limits: Limits) -> Served {
    let board = Board::new(None, CancellationToken::new());
    board.set_config("{\"kind\":\"KubeSchedulerConfiguration\"}");
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let routes = Routes::new(Health::new(board.clone()), board, access);
    let mut task = JoinSet::new();
    task.spawn(listen::serve(listener, tls, routes, limits));
    Served { address, _task: task }
}

/// Everything that comes back for these bytes.
async fn said(stream: impl tokio::io::AsyncRead + tokio::io::AsyncWrite, request: &str) -> String {
    let mut stream = std::pin::pin!(stream);
    let _ = stream.write_all(request.as_bytes()).await;
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer).await;
    String::from_utf8_lossy(&answer).into_owned()
}

fn get(path: &str, more: &str) -> String {
    format!("GET {path} HTTP/1.1\r\nhost: localhost\r\n{more}connection: close\r\n\r\n")
}

/// The answer of a plain server.
async fn plainly(served: &Served, request: &str) -> String {
    said(TcpStream::connect(&served.address).await.unwrap(), request).await
}

/// The answer of a server with this certificate, to a client with that one.
async fn securely(
    served: &Served,
    pem: &str,
    client: Option<Identity>,
    request: &str,
) -> std::io::Result<String> {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_slice(pem.as_bytes()).unwrap()).unwrap();
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots);
    let config = match client {
        Some(Identity { certificate, key }) => {
            config.with_client_auth_cert(vec![certificate], key).unwrap()
        }
        None => config.with_no_client_auth(),
    };
    let stream = TcpStream::connect(&served.address).await.unwrap();
    let name = ServerName::try_from("localhost").unwrap();
    let stream = TlsConnector::from(Arc::new(config)).connect(name, stream).await?;
    Ok(said(stream, request).await)
}

#[tokio::test]
async fn over_https_the_cluster_says_who_may_read_what() {
    let folder = tempfile::tempdir().unwrap();
    let authority = Authority::new();
    let ca = folder.path().join("ca.crt");
    fs::write(&ca, &authority.pem).unwrap();
    let (ca, at) = (ca.to_str().unwrap(), folder.path().to_str().unwrap());
    let flags = flags(&["--authentication-skip-lookup", "--client-ca-file", ca, "--cert-dir", at]);
    let cluster = Cluster::start(Value::Null).await;
    let access = Arc::new(Access::new(&flags, &cluster.rest).await.unwrap());
    let certificates = Certificates::new(&flags).unwrap();
    let pem = fs::read_to_string(folder.path().join("kube-scheduler.crt")).unwrap();
    let acceptor = TlsAcceptor::from(certificates.server_config(&flags).unwrap());
    let served = serve(Some(acceptor), Some(access), Limits::default()).await;

    let ok = securely(&served, &pem, None, &get("/livez", "")).await.unwrap();
    assert!(ok.starts_with("HTTP/1.1 200 OK\r\n") && ok.ends_with("\r\n\r\nok"), "{ok}");
    // The original's answers, byte for byte.
    let unknown = securely(&served, &pem, None, &get("/metrics", "")).await.unwrap();
    assert!(unknown.starts_with("HTTP/1.1 403 Forbidden\r\n"), "{unknown}");
    let body = "{\n  \"kind\": \"Status\",\n  \"apiVersion\": \"v1\",\n  \"metadata\": {},\n  \
                \"status\": \"Failure\",\n  \"message\": \"forbidden: User \\\"system:anonymous\\\" \
                cannot get path \\\"/metrics\\\"\",\n  \"reason\": \"Forbidden\",\n  \"details\": \
                {},\n  \"code\": 403\n}";
    assert!(unknown.ends_with(body), "{unknown}");
    let wrong = "authorization: Bearer wrong\r\n";
    let refused = securely(&served, &pem, None, &get("/metrics", wrong)).await.unwrap();
    let body = "{\n  \"kind\": \"Status\",\n  \"apiVersion\": \"v1\",\n  \"metadata\": {},\n  \
                \"status\": \"Failure\",\n  \"message\": \"Unauthorized\",\n  \"reason\": \
                \"Unauthorized\",\n  \"code\": 401\n}";
    assert!(refused.ends_with(body), "{refused}");
    let good = "authorization: Bearer good\r\n";
    let metrics = securely(&served, &pem, None, &get("/metrics", good)).await.unwrap();
    assert!(metrics.contains("\nprocess_resident_memory_bytes "), "{metrics}");
    let admin = Some(authority.certify("admin", "system:masters"));
    let config = securely(&served, &pem, admin, &get("/configz", "")).await.unwrap();
    let expected = "{\"componentconfig\":{\"kind\":\"KubeSchedulerConfiguration\"}}";
    assert!(config.ends_with(expected), "{config}");
}

#[tokio::test]
async fn plain_http_answers_whoever_is_on_this_machine() {
    let served = serve(None, None, Limits::default()).await;
    let metrics = plainly(&served, &get("/metrics", "")).await;
    assert!(metrics.contains("content-type: text/plain; version=0.0.4"), "{metrics}");
    let nothing = plainly(&served, &get("/nothing", "")).await;
    assert!(nothing.starts_with("HTTP/1.1 404"), "{nothing}");
    assert!(nothing.ends_with("\r\n\r\n404 page not found\n"), "{nothing}");
    let posted = plainly(&served, &get("/livez", "").replace("GET", "POST")).await;
    assert!(posted.starts_with("HTTP/1.1 405"), "{posted}");
}

#[tokio::test]
async fn clients_that_send_too_much_or_too_slowly_do_not_keep_others_out() {
    let limits = Limits { connections: 1, head: Duration::from_millis(50), ..Limits::default() };
    let served = serve(None, None, limits).await;
    let long = format!("x: {}\r\n", "y".repeat(4 * limits.head_bytes));
    let answer = plainly(&served, &get("/livez", &long)).await;
    assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 431"), "{answer}");
    // Somebody who never ends its question is cut off.
    let mut slow = TcpStream::connect(&served.address).await.unwrap();
    slow.write_all(b"GET /livez HTTP/1.1\r\n").await.unwrap();
    let mut answer = Vec::new();
    let _ = slow.read_to_end(&mut answer).await;
    assert!(answer.is_empty() || answer.starts_with(b"HTTP/1.1 408"), "{answer:?}");
}

/// Asks on a connection that stays open, and waits for the answer.
async fn asks(stream: &mut TcpStream) {
    stream.write_all(b"GET /livez HTTP/1.1\r\nhost: localhost\r\n\r\n").await.unwrap();
    let mut answer = Vec::new();
    while !answer.ends_with(b"\r\n\r\nok") {
        answer.push(stream.read_u8().await.expect("the connection lasts"));
    }
}

#[tokio::test]
async fn the_connection_that_was_silent_for_longest_gives_way_to_a_new_one() {
    let limits = Limits { connections: 2, ..Limits::default() };
    let served = serve(None, None, limits).await;
    let mut first = TcpStream::connect(&served.address).await.unwrap();
    asks(&mut first).await;
    let mut second = TcpStream::connect(&served.address).await.unwrap();
    asks(&mut second).await;
    asks(&mut first).await;
    let third = plainly(&served, &get("/livez", "")).await;
    assert!(third.ends_with("ok"), "{third}");
    assert_eq!(second.read(&mut [0]).await.unwrap_or_default(), 0);
    asks(&mut first).await;
}

#[tokio::test]
async fn a_question_that_the_cluster_does_not_answer_keeps_nobody_out() {
    let flags = flags(&["--authentication-skip-lookup"]);
    let cluster = Cluster::start(Value::Null).await;
    let access = Arc::new(Access::new(&flags, &cluster.rest).await.unwrap());
    let limits = Limits { connections: 1, ..Limits::default() };
    let served = serve(None, Some(access), limits).await;
    let mut slow = TcpStream::connect(&served.address).await.unwrap();
    let question = get("/metrics", "authorization: Bearer slow\r\n");
    slow.write_all(question.as_bytes()).await.unwrap();
    while cluster.reviews() == 0 {
        tokio::task::yield_now().await;
    }
    let answer = plainly(&served, &get("/livez", "")).await;
    assert!(answer.ends_with("ok"), "{answer}");
    let mut answer = Vec::new();
    let _ = slow.read_to_end(&mut answer).await;
    assert!(answer.is_empty(), "it was waited for: {answer:?}");
}

#[test]
fn a_rotated_certificate_is_taken_up_and_a_broken_one_is_not() {
    let folder = tempfile::tempdir().unwrap();
    let (certificate, key) = (folder.path().join("tls.crt"), folder.path().join("tls.key"));
    let renew = || {
        let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
        fs::write(&certificate, made.cert.pem()).unwrap();
        fs::write(&key, made.signing_key.serialize_pem()).unwrap();
        made.cert.der().clone()
    };
    let first = renew();
    let (certificate_file, key_file) = (certificate.to_str().unwrap(), key.to_str().unwrap());
    let flags = flags(&["--tls-cert-file", certificate_file, "--tls-private-key-file", key_file]);
    let certificates = Certificates::new(&flags).unwrap();
    assert_eq!(certificates.own(), first);
    let second = renew();
    certificates.look();
    assert_eq!(certificates.own(), second);
    fs::write(&certificate, "no certificate").unwrap();
    certificates.look();
    assert_eq!(certificates.own(), second);
    let error = format!("{:#}", Certificates::new(&flags).unwrap_err());
    assert!(error.contains("tls.crt") && error.contains("must be PEM"), "{error}");
}

#[test]
fn a_cipher_suite_that_is_not_spoken_is_answered_with_those_that_are() {
    let suites = |names: &str| {
        let flags = flags(&[&format!("--tls-cipher-suites={names}")]);
        Certificates::new(&flags).unwrap().server_config(&flags).map(|_| ())
    };
    suites("TLS_AES_128_GCM_SHA256,TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256").unwrap();
    let error = suites("TLS_RSA_WITH_AES_128_CBC_SHA").unwrap_err().to_string();
    assert!(error.contains("TLS_AES_256_GCM_SHA384"), "{error}");
}

#[test]
fn a_key_exchange_group_that_is_not_spoken_is_answered_with_those_that_are() {
    let groups = |numbers: &str| {
        let flags = flags(&[&format!("--tls-curve-preferences={numbers}")]);
        Certificates::new(&flags).unwrap().server_config(&flags)
    };
    let config = groups("29,24").unwrap();
    let left: Vec<_> =
        config.crypto_provider().kx_groups.iter().map(|it| u16::from(it.name())).collect();
    assert_eq!(left, [29, 24]);
    let error = groups("29,30").unwrap_err().to_string();
    assert!(error.contains("30 is not spoken here; those that are: 29,23,24"), "{error}");
}
