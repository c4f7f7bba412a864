//! Finding the cluster: a kubeconfig, or the service account of the pod that the process runs in.

use std::{
    env,
    path::{Path, PathBuf},
    time::Duration,
};

use http::{HeaderName, HeaderValue};
use kube::config::{KubeConfigOptions, Kubeconfig};
use serde::Deserialize;

use crate::rest::{CallError, Rest, chain};

/// Where to look for the cluster.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClientOptions {
    /// A kubeconfig, and who named it (`--kubeconfig`), for messages.
    pub kubeconfig: Option<(PathBuf, String)>,
    /// The context to use; absent is the file's current one.
    pub context: Option<String>,
    /// The server's address; takes the place of the kubeconfig's.
    pub master: Option<String>,
}

/// Why there is no cluster. Each message says what to do.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ConnectError {
    /// The kubeconfig is not there.
    #[error(
        "the kubeconfig {path:?}, named by {named_by}, does not exist. Name one that does with \
         --kubeconfig FILE or the variable KUBECONFIG; `lab up` prints the path of the lab's"
    )]
    NoSuchFile {
        /// The file.
        path: PathBuf,
        /// Who named it.
        named_by: String,
    },
    /// The kubeconfig is of no use.
    #[error("the kubeconfig {path:?}, named by {named_by}, cannot be used: {message}. {fix}")]
    Unusable {
        /// The file.
        path: PathBuf,
        /// Who named it.
        named_by: String,
        /// What is wrong.
        message: String,
        /// What to do.
        fix: String,
    },
    /// Nothing says where the cluster is.
    #[error(
        "nothing says which cluster to schedule for: there is no --kubeconfig, no KUBECONFIG and \
         no {home:?}, and this is not a pod with a service account. Name a kubeconfig with \
         --kubeconfig FILE; `lab up` starts a lab cluster and prints the path of its own"
    )]
    Nothing {
        /// The place where kubeconfigs usually are.
        home: PathBuf,
    },
    /// `--master` is no address.
    #[error("--master {given:?} is no address: {message}. Write it as https://HOST:PORT")]
    Master {
        /// What was given.
        given: String,
        /// What is wrong with it.
        message: String,
    },
    /// The service account's files cannot be used.
    #[error(
        "this is a pod, but its service account, which should stand in \
         /var/run/secrets/kubernetes.io/serviceaccount, cannot be used: {message}. Set \
         automountServiceAccountToken to true, or name a kubeconfig with --kubeconfig FILE"
    )]
    ServiceAccount {
        /// What is wrong.
        message: String,
    },
    /// No client can be made of the settings.
    #[error(
        "the settings from {source_name} make no client: {message}. Check its certificates, and \
         the token file or the program that its user's credentials come from"
    )]
    Client {
        /// Where the settings come from.
        source_name: String,
        /// What is wrong.
        message: String,
    },
    /// The server does not answer, or not as an API server.
    #[error(
        "the API server {server}, from {source_name}, cannot be used: {message}. Check that it \
         runs (`kubectl get --raw /version`) and that this is the right cluster"
    )]
    Unreachable {
        /// Its address.
        server: String,
        /// Where the address comes from.
        source_name: String,
        /// What happened.
        message: String,
        /// Whether it is one of the things that pass by themselves.
        passing: bool,
    },
}

impl ConnectError {
    /// Whether the same may well succeed later: the server is away, busy, or has just been started
    /// and does not know its roles yet.
    pub fn may_pass(&self) -> bool {
        matches!(self, Self::Unreachable { passing: true, .. })
    }
}

/// A cluster that answers.
#[derive(Clone, Debug)]
pub struct Cluster {
    /// Calls to it.
    pub rest: Rest,
    /// Its address.
    pub server: String,
    /// Where the address comes from.
    pub source_name: String,
    /// Its version, as `v1.36.2`.
    pub version: String,
}

/// How long the first answer may take.
const FIRST_ANSWER: Duration = Duration::from_secs(10);

/// A cluster whose address is known, and that was not asked anything yet.
#[derive(Clone, Debug)]
pub struct Found {
    /// Calls to it.
    pub rest: Rest,
    /// Its address.
    pub server: String,
    /// Where the address comes from.
    pub source_name: String,
}

/// Finds the cluster. `limit` is how long each call may take.
///
/// # Errors
/// See [`ConnectError`].
pub async fn find(options: &ClientOptions, limit: Duration) -> Result<Found, ConnectError> {
    let (mut config, source_name) = settings(options).await?;
    // Faults are handled where it is known what they mean.
    config.default_retry = false;
    config.read_timeout = None;
    let server = config.cluster_url.to_string().trim_end_matches('/').to_owned();
    // A program that gives out credentials may take as long as it likes.
    let client = tokio::task::spawn_blocking(|| kube::Client::try_from(config)).await;
    let message = match client {
        Ok(Ok(client)) => return Ok(Found { rest: Rest::new(client, limit), server, source_name }),
        Ok(Err(error)) => chain(&error),
        Err(error) => error.to_string(),
    };
    Err(ConnectError::Client { source_name, message })
}

impl Found {
    /// Asks for the cluster's version.
    ///
    /// # Errors
    /// [`ConnectError::Unreachable`].
    pub async fn answer(&self) -> Result<Cluster, ConnectError> {
        let Self { rest, server, source_name } = self.clone();
        match ask_version(&rest).await {
            Ok(version) => Ok(Cluster { rest, server, source_name, version }),
            Err(error) => Err(ConnectError::Unreachable {
                server,
                source_name,
                message: error.to_string(),
                passing: match error {
                    CallError::Transport(_) | CallError::TimedOut(_) => true,
                    CallError::Answer { code, .. } => matches!(code, 403 | 429 | 500..),
                    _ => false,
                },
            }),
        }
    }
}

/// Finds the cluster and asks for its version. `limit` is how long each later call may take.
///
/// # Errors
/// See [`ConnectError`].
pub async fn connect(options: &ClientOptions, limit: Duration) -> Result<Cluster, ConnectError> {
    find(options, limit).await?.answer().await
}

async fn ask_version(rest: &Rest) -> Result<String, CallError> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Version {
        git_version: String,
    }
    rest.with_limit(FIRST_ANSWER).get("/version").await.map(|it: Version| it.git_version)
}

/// The client's settings, and where they come from.
async fn settings(options: &ClientOptions) -> Result<(kube::Config, String), ConnectError> {
    let address = |given: &String| {
        given.parse::<http::Uri>().map_err(|error| ConnectError::Master {
            given: given.clone(),
            message: error.to_string(),
        })
    };
    let master = options.master.as_ref().map(address).transpose()?;
    let home = env::home_dir().unwrap_or_default().join(".kube/config");
    let named = options.kubeconfig.clone().or_else(|| {
        let listed = env::var_os("KUBECONFIG").filter(|it| !it.is_empty())?;
        Some((PathBuf::from(listed), "the variable KUBECONFIG".to_owned()))
    });
    let in_pod = env::var_os("KUBERNETES_SERVICE_HOST").is_some();
    let (mut config, source_name) = match (named, &master) {
        (Some((path, named_by)), _) => {
            let config = from_kubeconfig(&path, &named_by, options.context.as_ref()).await?;
            (config, format!("kubeconfig {}", path.display()))
        }
        (None, Some(master)) => (kube::Config::new(master.clone()), "--master".to_owned()),
        (None, None) if in_pod => {
            let config = kube::Config::incluster()
                .map_err(|error| ConnectError::ServiceAccount { message: chain(&error) })?;
            (config, "the pod's service account".to_owned())
        }
        (None, None) if home.exists() => {
            let named_by = "custom, being the usual place";
            let config = from_kubeconfig(&home, named_by, options.context.as_ref()).await?;
            (config, format!("kubeconfig {}", home.display()))
        }
        (None, None) => return Err(ConnectError::Nothing { home }),
    };
    if let Some(master) = master {
        config.cluster_url = master;
    }
    Ok((config, source_name))
}

async fn from_kubeconfig(
    path: &Path,
    named_by: &str,
    context: Option<&String>,
) -> Result<kube::Config, ConnectError> {
    let unusable = |message: String, fix: &str| ConnectError::Unusable {
        path: path.to_owned(),
        named_by: named_by.to_owned(),
        message,
        fix: fix.to_owned(),
    };
    // KUBECONFIG may list several files, of which those that exist are laid over each other.
    let mut merged: Option<Kubeconfig> = None;
    for file in env::split_paths(path).filter(|it| it.exists()) {
        let fix = "It must be the YAML that `kubectl config view` shows";
        let read = Kubeconfig::read_from(&file).map_err(|error| unusable(chain(&error), fix))?;
        merged = Some(match merged {
            None => read,
            Some(first) => first.merge(read).map_err(|error| unusable(chain(&error), fix))?,
        });
    }
    let Some(kubeconfig) = merged else {
        return Err(ConnectError::NoSuchFile {
            path: path.to_owned(),
            named_by: named_by.to_owned(),
        });
    };
    let contexts: Vec<_> = kubeconfig.contexts.iter().map(|it| it.name.clone()).collect();
    let chosen = context.or(kubeconfig.current_context.as_ref());
    let fix = match &contexts[..] {
        _ if chosen.is_some_and(|it| contexts.contains(it)) => {
            "Check the cluster and the user that the context names".to_owned()
        }
        [] => "It has no contexts; write one with `kubectl config set-context`".to_owned(),
        names => format!("It has the contexts {}; choose one with --context", names.join(", ")),
    };
    let options = KubeConfigOptions { context: context.cloned(), ..KubeConfigOptions::default() };
    let mut config = kube::Config::from_custom_kubeconfig(kubeconfig, &options)
        .await
        .map_err(|error| unusable(chain(&error), &fix))?;
    impersonate(&mut config).map_err(|error| unusable(error, "Check the user's `as` fields"))?;
    Ok(config)
}

/// Calls as whom the kubeconfig's user wants to be taken for (`as`, `as-uid`, `as-groups`), which
/// the client leaves undone.
fn impersonate(config: &mut kube::Config) -> Result<(), String> {
    let user = &config.auth_info;
    let one = [
        ("impersonate-user", user.impersonate.as_ref()),
        ("impersonate-uid", user.impersonate_uid.as_ref()),
    ];
    let groups = user.impersonate_groups.iter().flatten().map(|it| ("impersonate-group", it));
    let one = one.into_iter().filter_map(|(name, value)| Some((name, value?)));
    let headers = one.chain(groups).map(|(name, value)| {
        let value = HeaderValue::from_str(value).map_err(|error| format!("{value:?}: {error}"))?;
        Ok((HeaderName::from_static(name), value))
    });
    let headers = headers.collect::<Result<Vec<_>, String>>()?;
    config.headers.extend(headers);
    Ok(())
}

#[cfg(test)]
mod tests;
