//! Where the cluster is, and how it is spoken to.

use std::path::PathBuf;

/// Where the cluster is, and how it is spoken to.
#[derive(Clone, Debug, Default, clap::Args)]
#[command(next_help_heading = "Cluster")]
pub(crate) struct ClientFlags {
    /// A kubeconfig; comes before the configuration's `clientConnection.kubeconfig`, the variable
    /// KUBECONFIG, the service account in a pod and ~/.kube/config
    #[arg(long, value_name = "FILE")]
    pub(crate) kubeconfig: Option<PathBuf>,
    /// The context of the kubeconfig; its current one where this is left out
    #[arg(long, value_name = "NAME")]
    pub(crate) context: Option<String>,
    /// The API server's address; takes the place of the kubeconfig's
    #[arg(long, value_name = "URL")]
    pub(crate) master: Option<String>,
}
