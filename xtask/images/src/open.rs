//! Opening a repository by an image's reference: where its registry is, and who one is there.

use std::process;

use crate::{
    credentials::{self, CredentialsError},
    reference::Reference,
    topology::Topology,
    transport::{Endpoint, Fault, Patience, Policy, Repository, Retries},
};

/// The repository cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The credentials that are configured are of no use.
    #[error(transparent)]
    Credentials(#[from] CredentialsError),
    /// This machine cannot speak to it.
    #[error(transparent)]
    Fault(#[from] Fault),
}

/// The repository of a reference, with the user's credentials for its registry; nothing is sent yet.
///
/// `insecure` lists registries that are spoken to without TLS though the topology does not say so.
///
/// # Errors
/// When the Docker configuration, or a helper that it names, is of no use.
pub async fn open(
    reference: &Reference,
    topology: &Topology,
    insecure: &[String],
    patience: Box<dyn Patience>,
) -> Result<Repository, OpenError> {
    let endpoint = Endpoint::new(&reference.registry, &topology.registries, insecure);
    let name = reference.registry.clone();
    // A helper is a program, and may ask the user something.
    let auth = tokio::task::spawn_blocking(move || credentials::for_registry(&name)).await;
    let auth = auth.unwrap_or_else(|panic| std::panic::resume_unwind(panic.into_panic()))?;
    // Any number that another process does not have spreads the attempts of both.
    let retries = Retries::new(Policy::default(), process::id().into(), patience);
    Ok(Repository::new(endpoint, &reference.repository, auth, retries)?)
}
