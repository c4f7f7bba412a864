//! Profiles from configuration files.

use loadmaster_config::{ConfigError, RegistryCatalog};
use loadmaster_core::profile::ProfileSpec;
use loadmaster_framework::{Gates, Registry};

/// A configuration that leaves everything at its default.
#[cfg(feature = "suite")]
pub(crate) const DEFAULT: &str =
    "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n";

/// The profiles of a `KubeSchedulerConfiguration`, ready to be built of the plugins in `registry`.
///
/// # Errors
/// What is wrong with the text.
pub(crate) fn specs(text: &str, registry: &Registry) -> Result<Vec<ProfileSpec>, ConfigError> {
    let gates = Gates::default();
    let catalog = RegistryCatalog::new(registry, &gates);
    let loaded = loadmaster_config::load(text, "config", &catalog)?;
    Ok(loaded.profiles.iter().map(ProfileSpec::from).collect())
}
