//! The plugins of this scheduler as its configuration sees them, with those of kube-scheduler's
//! default set that it does not have: they may be named, run nowhere, and are told of.

use loadmaster_config::{ArgsError, Catalog, Loaded, Plugins, PointSet, RegistryCatalog};
use loadmaster_framework::{FieldError, Gates, Registry};
use serde_json::Value;

/// See the [module](self).
#[derive(Debug)]
pub(super) struct SchedulerCatalog<'r> {
    registry: RegistryCatalog<'r>,
    absent: Vec<String>,
}

impl<'r> SchedulerCatalog<'r> {
    pub(super) fn new(registry: &'r Registry, gates: &'r Gates) -> Self {
        let defaults = Plugins::defaults();
        let absent = defaults.names().into_iter().filter(|it| !registry.contains(it));
        let absent = absent.map(str::to_owned).collect();
        Self { registry: RegistryCatalog::new(registry, gates), absent }
    }

    fn lacks(&self, plugin: &str) -> bool {
        self.absent.iter().any(|it| it == plugin)
    }

    /// Those that `loaded` asks for and this scheduler does not have.
    pub(super) fn missed_by(&self, loaded: &Loaded) -> Vec<&str> {
        let asked = loaded.config.profiles.iter().flat_map(|it| it.plugins.names());
        let asked: Vec<_> = asked.collect();
        self.absent.iter().map(String::as_str).filter(|it| asked.contains(it)).collect()
    }
}

impl Catalog for SchedulerCatalog<'_> {
    fn names(&self) -> Vec<&str> {
        self.registry.names()
    }

    fn points(&self, plugin: &str, args: &Value) -> Option<PointSet> {
        if self.lacks(plugin) {
            return Some(PointSet::default());
        }
        self.registry.points(plugin, args)
    }

    fn takes_args(&self, plugin: &str) -> bool {
        self.registry.takes_args(plugin)
    }

    fn decode_args(&self, plugin: &str, written: &Value) -> Result<Value, ArgsError> {
        self.registry.decode_args(plugin, written)
    }

    fn validate_args(&self, plugin: &str, args: &Value, path: &str) -> Vec<FieldError> {
        self.registry.validate_args(plugin, args, path)
    }
}
