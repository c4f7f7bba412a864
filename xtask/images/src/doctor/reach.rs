//! Whether a registry or a cluster answers at its address.

use std::{
    env, fs,
    net::{TcpStream, ToSocketAddrs as _},
    path::PathBuf,
    time::Duration,
};

use serde::Deserialize;

/// How long an address may take to answer.
const PATIENCE: Duration = Duration::from_secs(2);

/// What came of reaching for something.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reached {
    /// Where.
    pub address: String,
    /// Why it does not answer.
    pub fault: Option<String>,
}

/// Reaches for a registry at `HOST:PORT`.
pub fn registry(address: &str) -> Reached {
    Reached { address: address.to_owned(), fault: connect(address).err() }
}

/// Reaches for the cluster that kubectl would talk to.
pub fn cluster() -> Reached {
    match server() {
        Ok(address) => {
            let fault = host(&address).and_then(|it| connect(&it)).err();
            Reached { address, fault }
        }
        Err(fault) => Reached { address: "kubectl's cluster".to_owned(), fault: Some(fault) },
    }
}

fn connect(address: &str) -> Result<(), String> {
    let addresses = address.to_socket_addrs().map_err(|it| it.to_string())?;
    let mut fault = "it has no address".to_owned();
    for address in addresses {
        match TcpStream::connect_timeout(&address, PATIENCE) {
            Ok(_) => return Ok(()),
            Err(error) => fault = error.to_string(),
        }
    }
    Err(fault)
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
struct InCluster {
    server: String,
}

/// The address of the server in the first kubeconfig that there is.
fn server() -> Result<String, String> {
    let named = env::var_os("KUBECONFIG").unwrap_or_default();
    let usual = env::home_dir().map(|it| it.join(".kube/config"));
    let files: Vec<PathBuf> =
        env::split_paths(&named).filter(|it| !it.as_os_str().is_empty()).chain(usual).collect();
    let file = files.iter().find(|it| it.is_file()).ok_or("there is no kubeconfig")?;
    let text = fs::read_to_string(file).map_err(|it| format!("{}: {it}", file.display()))?;
    server_in(&text).map_err(|it| format!("{}: {it}", file.display()))
}

fn server_in(text: &str) -> Result<String, String> {
    let config: Kubeconfig = serde_saphyr::from_str(text).map_err(|it| it.to_string())?;
    let current = config.current_context;
    let context = config.contexts.into_iter().find(|it| it.name == current);
    let context = context.ok_or_else(|| format!("there is no context `{current}`"))?;
    let cluster = config.clusters.into_iter().find(|it| it.name == context.context.cluster);
    let cluster =
        cluster.ok_or_else(|| format!("there is no cluster `{}`", context.context.cluster))?;
    Ok(cluster.cluster.server)
}

/// `HOST:PORT` of a URL.
fn host(url: &str) -> Result<String, String> {
    let url: http::Uri = url.parse().map_err(|it| format!("{url}: {it}"))?;
    let host = url.host().ok_or_else(|| format!("{url}: it names no host"))?;
    let usual = if url.scheme_str() == Some("http") { 80 } else { 443 };
    Ok(format!("{host}:{}", url.port_u16().unwrap_or(usual)))
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    #[test]
    fn an_address_answers_only_while_somebody_listens() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        assert_eq!(registry(&address).fault, None);
        drop(listener);
        assert!(registry(&address).fault.is_some());
        assert!(registry("no port").fault.is_some());
    }

    #[test]
    fn the_server_is_the_current_contexts() {
        let text = "current-context: b\ncontexts:\n- {name: a, context: {cluster: one}}\n\
                    - {name: b, context: {cluster: two, user: x}}\nclusters:\n\
                    - {name: one, cluster: {server: 'https://one:6443'}}\n\
                    - {name: two, cluster: {server: 'https://[::1]:6443/path'}}\n";
        let server = server_in(text).unwrap();
        assert_eq!(host(&server).unwrap(), "[::1]:6443");
        assert_eq!(host("https://kube.example").unwrap(), "kube.example:443");
        let error = server_in("current-context: c").unwrap_err();
        assert!(error.contains("no context `c`"), "{error}");
    }
}
