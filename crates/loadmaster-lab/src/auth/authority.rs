//! The cluster's certificate authority.

use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;

use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose,
};
use rustls::ServerConfig;
use rustls::pki_types::PrivatePkcs8KeyDer;

/// The names by which pods know the API server, and the address of its service.
const NAMES: [&str; 7] = [
    "localhost",
    "127.0.0.1",
    "kubernetes",
    "kubernetes.default",
    "kubernetes.default.svc",
    "kubernetes.default.svc.cluster.local",
    "10.96.0.1",
];

/// Why there is no certificate for a server.
#[derive(Debug, thiserror::Error)]
pub enum AuthorityError {
    /// The certificate could not be made.
    #[error("cannot make the API server's certificate")]
    Certificate(#[from] rcgen::Error),
    /// The TLS library does not take the certificate.
    #[error("cannot use the API server's certificate")]
    Tls(#[from] rustls::Error),
}

/// Signs the certificates of one cluster; its own key never leaves the process.
pub struct Authority {
    pem: String,
    issuer: Issuer<'static, KeyPair>,
}

impl fmt::Debug for Authority {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Authority").field("pem", &self.pem).finish_non_exhaustive()
    }
}

impl Authority {
    /// A new authority of this name.
    pub(crate) fn new(name: &str) -> Self {
        let mut params = CertificateParams::default();
        params.distinguished_name.push(DnType::CommonName, name);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![
            KeyUsagePurpose::DigitalSignature,
            KeyUsagePurpose::KeyCertSign,
            KeyUsagePurpose::CrlSign,
        ];
        let key = KeyPair::generate().expect("the system has random numbers");
        let certificate = params.self_signed(&key).expect("these parameters can be signed");
        Self { pem: certificate.pem(), issuer: Issuer::new(params, key) }
    }

    /// The authority's certificate: what `ca.crt` holds in every pod.
    pub fn ca_pem(&self) -> &str {
        &self.pem
    }

    /// A TLS server with a certificate for the API server's names and for `address`.
    ///
    /// # Errors
    /// [`AuthorityError`].
    pub(crate) fn server(&self, address: IpAddr) -> Result<Arc<ServerConfig>, AuthorityError> {
        let mut names: Vec<String> = NAMES.map(str::to_owned).into();
        let address = address.to_string();
        if !names.contains(&address) {
            names.push(address);
        }
        let mut params = CertificateParams::new(names)?;
        params.distinguished_name.push(DnType::CommonName, "kube-apiserver");
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        params.use_authority_key_identifier_extension = true;
        let key = KeyPair::generate()?;
        let certificate = params.signed_by(&key, &self.issuer)?;
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()?
            .with_no_client_auth()
            .with_single_cert(
                vec![certificate.der().clone()],
                PrivatePkcs8KeyDer::from(key.serialize_der()).into(),
            )?;
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(Arc::new(config))
    }
}
