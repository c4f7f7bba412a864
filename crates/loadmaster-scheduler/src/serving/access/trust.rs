//! Whose certificates are believed, and who may speak for others.

use std::{
    collections::BTreeMap,
    fs,
    path::Path,
    sync::{Arc, PoisonError, RwLock},
    time::Duration,
};

use anyhow::{Context, anyhow};
use http::HeaderMap;
use loadmaster_k8s::rest::Rest;
use rustls::{
    RootCertStore,
    crypto::ring,
    pki_types::{CertificateDer, UnixTime, pem::PemObject},
    server::{WebPkiClientVerifier, danger::ClientCertVerifier},
};
use serde::Deserialize;

use super::who::{User, common_name_of};
use crate::app::ServingFlags;

/// Where the cluster tells its authorities.
const CONFIG_MAP: &str =
    "/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication";
/// How often files and cluster are asked again.
const ASK_EVERY: Duration = Duration::from_mins(1);

/// Whose certificates are believed, kept as files and cluster have it.
#[derive(Debug)]
pub(super) struct Trust {
    sources: Sources,
    current: RwLock<Arc<Trusted>>,
}

/// What is believed now.
#[derive(Debug, Default)]
pub(super) struct Trusted {
    clients: Option<Arc<dyn ClientCertVerifier>>,
    proxy: Option<Proxy>,
}

/// Who may speak for others, and in which headers.
#[derive(Debug)]
struct Proxy {
    verifier: Arc<dyn ClientCertVerifier>,
    allowed_names: Vec<String>,
    username_headers: Vec<String>,
    uid_headers: Vec<String>,
    group_headers: Vec<String>,
    extra_prefixes: Vec<String>,
}

#[derive(Debug)]
struct Sources {
    flags: ServingFlags,
    rest: Rest,
}

impl Trust {
    /// What the flags and the cluster say.
    ///
    /// # Errors
    /// Files that cannot be used, or what keeps the cluster from saying, where that is not to be
    /// tolerated.
    pub(super) async fn new(flags: &ServingFlags, rest: Rest) -> anyhow::Result<Self> {
        let sources = Sources { flags: flags.clone(), rest };
        let current = match sources.ask().await {
            Ok(trusted) => trusted,
            Err(Untold::Cluster(error)) if flags.authentication_tolerate_lookup_failure => {
                tracing::warn!(
                    "the cluster does not tell its authorities, so no client certificate is \
                     believed until it does: {error:#}; --authentication-skip-lookup=true does not \
                     ask, --client-ca-file=FILE names authorities"
                );
                sources.of_flags(&BTreeMap::new())?
            }
            Err(Untold::Cluster(error) | Untold::File(error)) => return Err(error),
        };
        Ok(Self { sources, current: RwLock::new(Arc::new(current)) })
    }

    /// What is believed now.
    pub(super) fn current(&self) -> Arc<Trusted> {
        Arc::clone(&self.current.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Asks again and again. Where there is no answer, what was believed still is.
    pub(super) async fn keep_fresh(&self) {
        loop {
            tokio::time::sleep(ASK_EVERY).await;
            match self.sources.ask().await {
                Ok(new) => {
                    *self.current.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(new);
                }
                Err(Untold::Cluster(error) | Untold::File(error)) => {
                    tracing::debug!("authorities could not be read again: {error:#}");
                }
            }
        }
    }
}

enum Untold {
    Cluster(anyhow::Error),
    File(anyhow::Error),
}

impl Sources {
    async fn ask(&self) -> Result<Trusted, Untold> {
        let flags = &self.flags;
        let complete =
            flags.client_ca_file.is_some() && flags.requestheader_client_ca_file.is_some();
        let told = if flags.authentication_skip_lookup || complete {
            BTreeMap::new()
        } else {
            self.lookup().await.map_err(Untold::Cluster)?
        };
        self.of_flags(&told).map_err(Untold::File)
    }

    async fn lookup(&self) -> anyhow::Result<BTreeMap<String, String>> {
        #[derive(Deserialize)]
        struct ConfigMap {
            #[serde(default)]
            data: BTreeMap<String, String>,
        }
        let read = self.rest.get(CONFIG_MAP).await.map(|it: ConfigMap| it.data);
        read.context("cannot read kube-system/extension-apiserver-authentication")
    }

    /// The flags, and what the cluster told where they say nothing.
    fn of_flags(&self, told: &BTreeMap<String, String>) -> anyhow::Result<Trusted> {
        let flags = &self.flags;
        let pem = |file: Option<&Path>, flag: &str, key: &str| match file {
            Some(file) => fs::read_to_string(file)
                .map(Some)
                .with_context(|| format!("cannot read {}, named by {flag}", file.display())),
            None => Ok(told.get(key).filter(|it| !it.trim().is_empty()).cloned()),
        };
        let clients = pem(flags.client_ca_file.as_deref(), "--client-ca-file", "client-ca-file")?;
        let proxy_flag = "--requestheader-client-ca-file";
        let proxies = pem(
            flags.requestheader_client_ca_file.as_deref(),
            proxy_flag,
            "requestheader-client-ca-file",
        )?;
        let own = flags.requestheader_client_ca_file.is_some();
        let words = |given: &[String], key: &str, default: &[&str]| -> Vec<String> {
            let listed = told.get(key).and_then(|it| serde_json::from_str::<Vec<String>>(it).ok());
            match listed {
                Some(listed) if !own => listed,
                _ if !given.is_empty() => given.to_vec(),
                _ => default.iter().map(|it| (*it).to_owned()).collect(),
            }
        };
        let proxy = proxies.map(|pem| {
            anyhow::Ok(Proxy {
                verifier: verifier(&pem).context(proxy_flag)?,
                allowed_names: words(
                    &flags.requestheader_allowed_names,
                    "requestheader-allowed-names",
                    &[],
                ),
                username_headers: words(
                    &flags.requestheader_username_headers,
                    "requestheader-username-headers",
                    &["x-remote-user"],
                ),
                uid_headers: words(
                    &flags.requestheader_uid_headers,
                    "requestheader-uid-headers",
                    &[],
                ),
                group_headers: words(
                    &flags.requestheader_group_headers,
                    "requestheader-group-headers",
                    &["x-remote-group"],
                ),
                extra_prefixes: words(
                    &flags.requestheader_extra_headers_prefix,
                    "requestheader-extra-headers-prefix",
                    &["x-remote-extra-"],
                ),
            })
        });
        Ok(Trusted {
            clients: clients.map(|it| verifier(&it).context("--client-ca-file")).transpose()?,
            proxy: proxy.transpose()?,
        })
    }
}

/// Verifies certificates of clients by the authorities in `pem`.
fn verifier(pem: &str) -> anyhow::Result<Arc<dyn ClientCertVerifier>> {
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(pem.as_bytes()) {
        roots.add(certificate.map_err(|error| anyhow!("no certificate in PEM: {error}"))?)?;
    }
    let provider = Arc::new(ring::default_provider());
    let builder = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider);
    builder.build().context("there is no certificate of an authority in it")
}

fn verify(
    verifier: &dyn ClientCertVerifier,
    certificates: &[CertificateDer<'static>],
) -> Result<(), String> {
    let Some((own, between)) = certificates.split_first() else {
        return Err("no certificate".to_owned());
    };
    let verified = verifier.verify_client_cert(own, between, UnixTime::now());
    verified.map(|_| ()).map_err(|error| format!("the client's certificate: {error}"))
}

impl Trusted {
    /// Whom the client's own certificate names.
    ///
    /// # Errors
    /// Why it is not believed.
    pub(super) fn by_certificate(
        &self,
        certificates: &[CertificateDer<'static>],
    ) -> Result<Option<User>, String> {
        let (Some(clients), Some(own)) = (&self.clients, certificates.first()) else {
            return Ok(None);
        };
        verify(&**clients, certificates)?;
        User::of_certificate(own)
    }

    /// For whom a proxy speaks.
    ///
    /// # Errors
    /// Why the proxy is not believed.
    pub(super) fn behind_proxy(
        &self,
        headers: &HeaderMap,
        certificates: &[CertificateDer<'static>],
    ) -> Result<Option<User>, String> {
        let (Some(proxy), Some(own)) = (&self.proxy, certificates.first()) else {
            return Ok(None);
        };
        verify(&*proxy.verifier, certificates)?;
        let name = common_name_of(own);
        if !proxy.allowed_names.is_empty() && !proxy.allowed_names.contains(&name) {
            return Err(format!("{name} may not speak for others"));
        }
        Ok(proxy.user(headers))
    }
}

impl Proxy {
    fn user(&self, headers: &HeaderMap) -> Option<User> {
        let first = |names: &[String]| {
            let all = names.iter().filter_map(|it| headers.get(it.trim())?.to_str().ok());
            all.map(str::to_owned).find(|it| !it.is_empty())
        };
        let username = first(&self.username_headers)?;
        let groups = self.group_headers.iter().flat_map(|it| headers.get_all(it.trim()));
        let groups = groups.filter_map(|it| it.to_str().ok()).map(str::to_owned).collect();
        let mut extra: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for (name, value) in headers {
            let (name, Ok(value)) = (name.as_str(), value.to_str()) else { continue };
            for prefix in &self.extra_prefixes {
                if let Some(key) = name.strip_prefix(&*prefix.trim().to_ascii_lowercase()) {
                    extra.entry(key.to_owned()).or_default().push(value.to_owned());
                }
            }
        }
        Some(User { username, uid: first(&self.uid_headers).unwrap_or_default(), groups, extra })
    }
}
