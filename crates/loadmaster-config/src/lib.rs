//! `KubeSchedulerConfiguration` v1: strict decoding, defaults, validation, and the profiles that it
//! comes to.
//!
//! A file goes through three stages, as in `kube-scheduler` 1.36: [`decode()`] (notation, fields,
//! types, plugin arguments, defaults), [`validate()`] (values), and the building of profiles and
//! extenders; [`load()`] does all three. What upstream accepts is accepted with the same meaning, what
//! it refuses is refused in the same stage, and what it takes in silence though it is probably not
//! meant is a [`Warning`].
//!
//! Which plugins there are is the caller's to say, through [`Catalog`]. No input makes this crate
//! panic. It reads no files but the certificates that an extender names.

mod catalog;
mod config;
mod decode;
mod document;
mod error;
mod extenders;
mod go_json;
mod golden_view;
mod load;
mod plugins;
mod points;
mod profile;
mod show;
mod validate;
mod warnings;
mod written;

pub use catalog::{ArgsError, Catalog, RegistryCatalog, is_gated};
pub use config::{
    API_VERSION, Args, Base64, ClientConnection, DEFAULT_PARALLELISM, Extender,
    ExtenderManagedResource, ExtenderTlsConfig, KIND, KubeSchedulerConfiguration, LeaderElection,
    PluginConfig, Profile,
};
pub use decode::decode;
pub use error::{ConfigError, Place, Problem, Stage, Warning};
pub use golden_view::golden_view;
pub use load::{Loaded, deny_warnings, load};
pub use plugins::{PluginRef, PluginSet, Plugins};
pub use points::{Point, PointSet};
pub use profile::EffectiveProfile;
pub use show::{ShowError, show_json, show_yaml};
pub use validate::validate;
