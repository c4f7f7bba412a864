//! The server that kubectl would talk to.

use std::{
    env, fs,
    path::{Path, PathBuf},
};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde::Deserialize;

/// A cluster's API server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Server {
    /// Its address.
    pub(super) url: String,
    /// By whom its certificate must be signed.
    pub(super) trust: Trust,
}

/// Whom to believe that a server is who it says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Trust {
    /// The machine's authorities.
    System,
    /// These alone, in PEM.
    Authority(Vec<u8>),
    /// Everybody: the kubeconfig says so.
    All,
}

/// The parts of a kubeconfig that name the server.
#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Kubeconfig {
    #[serde(default)]
    current_context: String,
    #[serde(default)]
    contexts: Vec<Context>,
    #[serde(default)]
    clusters: Vec<Cluster>,
}

#[derive(Deserialize)]
struct Context {
    name: String,
    context: InContext,
}

#[derive(Deserialize)]
struct InContext {
    cluster: String,
}

#[derive(Deserialize)]
struct Cluster {
    name: String,
    cluster: InCluster,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
struct InCluster {
    server: String,
    #[serde(default)]
    certificate_authority: Option<PathBuf>,
    #[serde(default)]
    certificate_authority_data: Option<String>,
    #[serde(default)]
    insecure_skip_tls_verify: bool,
}

/// The server of the first kubeconfig that there is.
pub(super) fn server() -> Result<Server, String> {
    let named = env::var_os("KUBECONFIG").unwrap_or_default();
    let usual = env::home_dir().map(|it| it.join(".kube/config"));
    let files: Vec<PathBuf> =
        env::split_paths(&named).filter(|it| !it.as_os_str().is_empty()).chain(usual).collect();
    let file = files.iter().find(|it| it.is_file()).ok_or("there is no kubeconfig")?;
    let text = fs::read_to_string(file).map_err(|it| format!("{}: {it}", file.display()))?;
    let folder = file.parent().unwrap_or_else(|| Path::new("."));
    server_in(&text, folder).map_err(|it| format!("{}: {it}", file.display()))
}

/// The server of the current context; files that it names are looked for from `folder`.
fn server_in(text: &str, folder: &Path) -> Result<Server, String> {
    let config: Kubeconfig = serde_saphyr::from_str(text).map_err(|it| it.to_string())?;
    let current = config.current_context;
    let context = config.contexts.into_iter().find(|it| it.name == current);
    let context = context.ok_or_else(|| format!("there is no context `{current}`"))?;
    let cluster = config.clusters.into_iter().find(|it| it.name == context.context.cluster);
    let cluster =
        cluster.ok_or_else(|| format!("there is no cluster `{}`", context.context.cluster))?;
    let cluster = cluster.cluster;
    let trust = if cluster.insecure_skip_tls_verify {
        Trust::All
    } else if let Some(data) = &cluster.certificate_authority_data {
        let pem = STANDARD.decode(data.trim());
        Trust::Authority(pem.map_err(|it| format!("certificate-authority-data: {it}"))?)
    } else if let Some(file) = &cluster.certificate_authority {
        let file = folder.join(file);
        Trust::Authority(fs::read(&file).map_err(|it| format!("{}: {it}", file.display()))?)
    } else {
        Trust::System
    };
    Ok(Server { url: cluster.server, trust })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_server_is_the_current_contexts_with_its_authority() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("ca.crt"), "PEM").unwrap();
        let server = |current: &str| {
            let text = format!(
                "current-context: {current}\ncontexts:\n- {{name: a, context: {{cluster: one}}}}\n\
                 - {{name: b, context: {{cluster: two, user: x}}}}\n\
                 - {{name: c, context: {{cluster: three}}}}\nclusters:\n\
                 - {{name: one, cluster: {{server: 'https://one:6443', certificate-authority: ca.crt}}}}\n\
                 - {{name: two, cluster: {{server: 'https://[::1]:6443/path', certificate-authority-data: UEVN}}}}\n\
                 - {{name: three, cluster: {{server: 'http://127.0.0.1:1'}}}}\n"
            );
            server_in(&text, folder.path())
        };
        let pem = Trust::Authority(b"PEM".to_vec());
        let expected = Server { url: "https://one:6443".to_owned(), trust: pem.clone() };
        assert_eq!(server("a"), Ok(expected));
        let expected = Server { url: "https://[::1]:6443/path".to_owned(), trust: pem };
        assert_eq!(server("b"), Ok(expected));
        assert_eq!(server("c").unwrap().trust, Trust::System);
        let error = server("d").unwrap_err();
        assert!(error.contains("no context `d`"), "{error}");
    }
}
