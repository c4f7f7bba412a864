//! The server's own certificate: a given one that may be rotated, or one that is made here.

use std::{
    fs, io,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError, RwLock},
    time::Duration,
};

use anyhow::{Context, bail};
use rustls::{
    DigitallySignedStruct, DistinguishedName, Error as TlsError, ServerConfig, SignatureScheme,
    client::danger::HandshakeSignatureValid,
    crypto::{
        CryptoProvider, SupportedKxGroup, ring, verify_tls12_signature, verify_tls13_signature,
    },
    pki_types::{CertificateDer, PrivateKeyDer, UnixTime, pem::PemObject},
    server::{
        ClientHello, ResolvesServerCert,
        danger::{ClientCertVerified, ClientCertVerifier},
    },
    sign::CertifiedKey,
    version::{TLS12, TLS13},
};

use crate::{
    app::{ServingFlags, TlsVersion},
    host::host,
};

/// How often given files are looked at.
const LOOK_EVERY: Duration = Duration::from_secs(10);

/// The certificate that holds now, and where it comes from.
#[derive(Clone, Debug)]
pub(super) struct Certificates(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    current: RwLock<Arc<CertifiedKey>>,
    files: Option<Files>,
    /// What the files held when they were looked at last.
    known: Mutex<Vec<u8>>,
}

#[derive(Clone, Debug)]
struct Files {
    certificate: PathBuf,
    key: PathBuf,
}

impl Certificates {
    /// What the flags ask for.
    ///
    /// # Errors
    /// What is wrong with the files, by name.
    pub(super) fn new(flags: &ServingFlags) -> anyhow::Result<Self> {
        let given = flags.tls_cert_file.clone().zip(flags.tls_private_key_file.clone());
        let files = match (given, &flags.cert_dir) {
            (Some((certificate, key)), _) => Some(Files { certificate, key }),
            (None, Some(folder)) => Some(in_folder(folder)?),
            (None, None) => None,
        };
        let current = if let Some(files) = &files {
            load(files)?
        } else {
            let (certificate, key) = made()?;
            certified(certificate.as_bytes(), key.as_bytes())?
        };
        let known = files.as_ref().and_then(|it| contents(it).ok()).unwrap_or_default();
        let (current, known) = (RwLock::new(Arc::new(current)), Mutex::new(known));
        Ok(Self(Arc::new(Inner { current, files, known })))
    }

    /// The settings of TLS.
    ///
    /// # Errors
    /// A cipher suite that is not known here.
    pub(super) fn server_config(&self, flags: &ServingFlags) -> anyhow::Result<Arc<ServerConfig>> {
        let mut provider = ring::default_provider();
        if !flags.tls_cipher_suites.is_empty() {
            choose_suites(&mut provider, &flags.tls_cipher_suites)?;
        }
        if !flags.tls_curve_preferences.is_empty() {
            choose_groups(&mut provider, &flags.tls_curve_preferences)?;
        }
        let versions = match flags.tls_min_version {
            TlsVersion::Tls12 => &[&TLS13, &TLS12][..],
            TlsVersion::Tls13 => &[&TLS13],
        };
        let provider = Arc::new(provider);
        let verifier = Arc::new(AskForCertificate(Arc::clone(&provider)));
        let mut config = ServerConfig::builder_with_provider(provider)
            .with_protocol_versions(versions)
            .context("--tls-min-version and --tls-cipher-suites leave nothing to speak")?
            .with_client_cert_verifier(verifier)
            .with_cert_resolver(Arc::clone(&self.0) as Arc<dyn ResolvesServerCert>);
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(Arc::new(config))
    }

    /// Takes up files that have changed, again and again.
    pub(super) async fn keep_fresh(self) {
        while self.0.files.is_some() {
            tokio::time::sleep(LOOK_EVERY).await;
            self.look();
        }
    }

    /// Takes up files that have changed. What cannot be used is told, and the old one stays.
    pub(super) fn look(&self) {
        let Some(files) = &self.0.files else { return };
        let Ok(found) = contents(files) else { return };
        let mut known = self.0.known.lock().unwrap_or_else(PoisonError::into_inner);
        if found == *known {
            return;
        }
        *known = found;
        let file = files.certificate.display();
        match load(files) {
            Ok(new) => {
                *self.0.current.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(new);
                tracing::info!(%file, "the certificate was renewed");
            }
            Err(error) => tracing::warn!(
                %file,
                error = format!("{error:#}"),
                "the new certificate cannot be used, the old one stays"
            ),
        }
    }

    /// The certificate that is shown now.
    #[cfg(test)]
    pub(super) fn own(&self) -> CertificateDer<'static> {
        self.0.current.read().unwrap().cert[0].clone()
    }
}

impl ResolvesServerCert for Inner {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(Arc::clone(&self.current.read().unwrap_or_else(PoisonError::into_inner)))
    }
}

fn contents(files: &Files) -> io::Result<Vec<u8>> {
    let mut all = fs::read(&files.certificate)?;
    all.extend(fs::read(&files.key)?);
    Ok(all)
}

fn load(files: &Files) -> anyhow::Result<CertifiedKey> {
    let read = |file: &Path, flag: &str| {
        fs::read(file).with_context(|| format!("cannot read {}, named by {flag}", file.display()))
    };
    let certificate = read(&files.certificate, "--tls-cert-file")?;
    let key = read(&files.key, "--tls-private-key-file")?;
    certified(&certificate, &key).with_context(|| {
        let (certificate, key) = (files.certificate.display(), files.key.display());
        format!(
            "{certificate} and {key} make no certificate; both must be PEM, and belong together"
        )
    })
}

fn certified(certificate: &[u8], key: &[u8]) -> anyhow::Result<CertifiedKey> {
    let chain = CertificateDer::pem_slice_iter(certificate).collect::<Result<Vec<_>, _>>()?;
    if chain.is_empty() {
        bail!("there is no certificate in it");
    }
    let key = PrivateKeyDer::from_pem_slice(key)?;
    Ok(CertifiedKey::from_der(chain, key, &ring::default_provider())?)
}

/// A certificate for this machine, and its key, in PEM.
fn made() -> anyhow::Result<(String, String)> {
    let mut names = vec!["localhost".to_owned(), "127.0.0.1".to_owned(), "::1".to_owned()];
    names.extend(Some(host()).filter(|it| it != "localhost"));
    let issue = || {
        let mut params = rcgen::CertificateParams::new(names)?;
        params.distinguished_name = rcgen::DistinguishedName::new();
        params.distinguished_name.push(rcgen::DnType::CommonName, "kube-scheduler");
        let key = rcgen::KeyPair::generate()?;
        Ok::<_, rcgen::Error>((params.self_signed(&key)?.pem(), key.serialize_pem()))
    };
    issue().context("cannot make a certificate")
}

/// The files in `--cert-dir`, made where they are not there.
fn in_folder(folder: &Path) -> anyhow::Result<Files> {
    let files = Files {
        certificate: folder.join("kube-scheduler.crt"),
        key: folder.join("kube-scheduler.key"),
    };
    if !files.certificate.exists() || !files.key.exists() {
        let write = || {
            let (certificate, key) = made()?;
            fs::create_dir_all(folder)?;
            write_private(&files.key, &key)?;
            fs::write(&files.certificate, certificate)?;
            anyhow::Ok(())
        };
        write().with_context(|| {
            format!("cannot write a certificate to --cert-dir {}", folder.display())
        })?;
    }
    Ok(files)
}

/// Writes a file that its owner alone may read.
fn write_private(file: &Path, text: &str) -> io::Result<()> {
    use std::{io::Write as _, os::unix::fs::OpenOptionsExt as _};
    let mut options = fs::OpenOptions::new();
    let mut file = options.write(true).create(true).truncate(true).mode(0o600).open(file)?;
    file.write_all(text.as_bytes())
}

/// Leaves the cipher suites of these IANA names.
fn choose_suites(provider: &mut CryptoProvider, names: &[String]) -> anyhow::Result<()> {
    let name =
        |it: &rustls::SupportedCipherSuite| format!("{:?}", it.suite()).replace("TLS13_", "TLS_");
    let known: Vec<_> = provider.cipher_suites.iter().map(name).collect();
    if let Some(unknown) = names.iter().find(|it| !known.contains(it)) {
        bail!(
            "--tls-cipher-suites: {unknown} is not spoken here; those that are: {}",
            known.join(",")
        );
    }
    provider.cipher_suites.retain(|it| names.contains(&name(it)));
    Ok(())
}

/// Leaves the key exchange groups of these numbers.
fn choose_groups(provider: &mut CryptoProvider, numbers: &[u16]) -> anyhow::Result<()> {
    let number = |it: &&dyn SupportedKxGroup| u16::from(it.name());
    let known: Vec<_> = provider.kx_groups.iter().map(number).collect();
    if let Some(unknown) = numbers.iter().find(|it| !known.contains(it)) {
        let known: Vec<_> = known.iter().map(ToString::to_string).collect();
        bail!(
            "--tls-curve-preferences: {unknown} is not spoken here; those that are: {}",
            known.join(",")
        );
    }
    provider.kx_groups.retain(|it| numbers.contains(&number(it)));
    Ok(())
}

/// Asks clients for a certificate and takes any whose key they hold; who it names is found out later,
/// and only where it matters (upstream: `tls.RequestClientCert`).
#[derive(Debug)]
struct AskForCertificate(Arc<CryptoProvider>);

impl ClientCertVerifier for AskForCertificate {
    fn client_auth_mandatory(&self) -> bool {
        false
    }

    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        &[]
    }

    fn verify_client_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: UnixTime,
    ) -> Result<ClientCertVerified, TlsError> {
        Ok(ClientCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, TlsError> {
        let algorithms = &self.0.signature_verification_algorithms;
        verify_tls12_signature(message, certificate, signature, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, TlsError> {
        let algorithms = &self.0.signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signature, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
