//! HTTP requests of a node: to registries, and to the containers that it probes.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response, Uri};
use http_body_util::Empty;
use hyper::body::Incoming;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, WebPkiSupportedAlgorithms};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

/// How long the other side may take to accept and to begin its answer.
const PATIENCE: Duration = Duration::from_secs(30);

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub(super) enum HttpError {
    /// The text is no URL that can be asked.
    #[error("{0:?} is no URL that can be asked")]
    Url(String),
    /// Nobody accepts.
    #[error("dial tcp {address}: connect: {source}")]
    Connect {
        /// Who was called.
        address: String,
        /// What the system said.
        source: std::io::Error,
    },
    /// No certificate that can be trusted, or no TLS at all.
    #[error("tls: {0}")]
    Tls(std::io::Error),
    /// The connection broke, or was no HTTP.
    #[error(transparent)]
    Http(#[from] hyper::Error),
    /// Nothing came in time.
    #[error("context deadline exceeded (Client.Timeout exceeded while awaiting headers)")]
    Late,
}

/// Whose certificates are trusted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Trust {
    /// Those that the system trusts.
    System,
    /// Anybody's: a kubelet does not check who it probes.
    Anyone,
}

/// Sends a `GET` over a connection of its own.
///
/// # Errors
/// [`HttpError`]; an answer of whatever code is none.
pub(super) async fn get(
    url: &str,
    headers: &[(&str, &str)],
    trust: Trust,
) -> Result<Response<Incoming>, HttpError> {
    tokio::time::timeout(PATIENCE, ask(url, headers, trust)).await.map_err(|_| HttpError::Late)?
}

async fn ask(
    url: &str,
    headers: &[(&str, &str)],
    trust: Trust,
) -> Result<Response<Incoming>, HttpError> {
    let invalid = || HttpError::Url(url.to_owned());
    let uri: Uri = url.parse().map_err(|_| invalid())?;
    let host = uri.host().ok_or_else(invalid)?.trim_matches(['[', ']']).to_owned();
    let secure = uri.scheme_str() == Some("https");
    let port = uri.port_u16().unwrap_or(if secure { 443 } else { 80 });
    let stream = TcpStream::connect((host.as_str(), port))
        .await
        .map_err(|source| HttpError::Connect { address: format!("{host}:{port}"), source })?;
    let path = uri.path_and_query().map_or("/", |it| it.as_str());
    let authority = uri.authority().map_or("", |it| it.as_str());
    let mut request = Request::get(path).header("host", authority);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let request = request.body(Empty::<Bytes>::new()).map_err(|_| invalid())?;
    if !secure {
        return send(stream, request).await;
    }
    let name = ServerName::try_from(host).map_err(|_| invalid())?;
    let connector = TlsConnector::from(Arc::new(client_config(trust)));
    let stream = connector.connect(name, stream).await.map_err(HttpError::Tls)?;
    send(stream, request).await
}

async fn send(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    request: Request<Empty<Bytes>>,
) -> Result<Response<Incoming>, HttpError> {
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
    // It ends when the answer has been read or dropped.
    tokio::spawn(async move {
        if let Err(error) = connection.await {
            tracing::debug!(%error, "a connection broke");
        }
    });
    Ok(sender.send_request(request).await?)
}

fn client_config(trust: Trust) -> ClientConfig {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .expect("the provider serves the default versions of TLS");
    match trust {
        Trust::System => {
            let mut roots = RootCertStore::empty();
            // A certificate that cannot be read is one that nobody presents.
            roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
            builder.with_root_certificates(roots).with_no_client_auth()
        }
        Trust::Anyone => {
            let verifier = Arc::new(NoCheck(algorithms(&provider)));
            builder.dangerous().with_custom_certificate_verifier(verifier).with_no_client_auth()
        }
    }
}

fn algorithms(provider: &CryptoProvider) -> WebPkiSupportedAlgorithms {
    provider.signature_verification_algorithms
}

/// Accepts every certificate, though not a broken handshake.
#[derive(Debug)]
struct NoCheck(WebPkiSupportedAlgorithms);

impl ServerCertVerifier for NoCheck {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        rustls::crypto::verify_tls12_signature(message, cert, dss, &self.0)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        rustls::crypto::verify_tls13_signature(message, cert, dss, &self.0)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.supported_schemes()
    }
}
