//! What this crate must know of the plugins: their names, their points, their arguments.

use loadmaster_framework::{
    BuildError, FieldError, Gates, Point as FrameworkPoint, Registry, field::child,
};
use serde_json::Value;

use crate::{
    plugins,
    points::{Point, PointSet},
};

/// The plugins that a scheduler is made of, as far as its configuration is concerned.
///
/// Arguments travel as JSON: what is written goes in, what is effective (defaults filled in) comes
/// out, and effective arguments given in again come out unchanged.
pub trait Catalog {
    /// The name of every plugin, in any order.
    fn names(&self) -> Vec<&str>;

    /// The points that `plugin` serves with these effective arguments; `None` for an unknown name.
    /// `Null` stands for no arguments.
    fn points(&self, plugin: &str, args: &Value) -> Option<PointSet>;

    /// Whether `plugin` has an argument type.
    fn takes_args(&self, plugin: &str) -> bool;

    /// Decodes written arguments strictly and fills in the defaults; `Null` stands for none.
    ///
    /// # Errors
    /// The first unknown field, or the first value of a wrong type.
    fn decode_args(&self, plugin: &str, written: &Value) -> Result<Value, ArgsError>;

    /// What is wrong with the values of arguments that stand at `path`; they are effective ones, or
    /// written ones that [`Catalog::decode_args`] has decoded.
    fn validate_args(&self, plugin: &str, args: &Value, path: &str) -> Vec<FieldError>;
}

/// Written arguments that could not be decoded. Paths start at the arguments; the root is empty.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ArgsError {
    /// A field that the arguments do not have.
    #[error("{path}: unknown field ({hint})")]
    UnknownField {
        /// The field.
        path: String,
        /// The nearest field that there is, or all of them.
        hint: String,
    },
    /// A value of a wrong type.
    #[error("{path}: {message}")]
    Invalid {
        /// The value.
        path: String,
        /// What was expected.
        message: String,
    },
}

/// The plugins of a registry, built under the given gates.
#[derive(Clone, Copy, Debug)]
pub struct RegistryCatalog<'r> {
    registry: &'r Registry,
    gates: &'r Gates,
}

impl<'r> RegistryCatalog<'r> {
    /// Looks at `registry` as a catalog.
    pub const fn new(registry: &'r Registry, gates: &'r Gates) -> Self {
        Self { registry, gates }
    }
}

impl Catalog for RegistryCatalog<'_> {
    fn names(&self) -> Vec<&str> {
        self.registry.names().collect()
    }

    fn points(&self, plugin: &str, args: &Value) -> Option<PointSet> {
        if !self.registry.contains(plugin) {
            return None;
        }
        // Arguments with wrong values are someone else's finding: the defaults tell the points too.
        let hooks = self
            .registry
            .build(plugin, args, self.gates)
            .or_else(|_| self.registry.build(plugin, &Value::Null, self.gates));
        let Ok(hooks) = hooks else { return Some(PointSet::default()) };
        let served = FrameworkPoint::ALL.iter().filter(|it| hooks.serves(**it));
        Some(served.map(|it| (*it).into()).collect())
    }

    fn takes_args(&self, plugin: &str) -> bool {
        if UPSTREAM_TYPED.contains(&plugin) {
            return self.registry.contains(plugin);
        }
        // The other plugins of upstream take none, whatever their type is here.
        !plugins::is_default(plugin)
            && self.registry.effective_args(plugin, &Value::Null).is_ok_and(|it| it.is_object())
    }

    fn decode_args(&self, plugin: &str, written: &Value) -> Result<Value, ArgsError> {
        self.registry.effective_args(plugin, written).map_err(|error| match error {
            BuildError::Decode { path, message, .. } => decode_error(&path, message),
            other => ArgsError::Invalid { path: String::new(), message: other.to_string() },
        })
    }

    fn validate_args(&self, plugin: &str, args: &Value, path: &str) -> Vec<FieldError> {
        self.registry
            .validate_args(plugin, args, path)
            .unwrap_or_else(|error| vec![FieldError::invalid(path, "arguments", error.to_string())])
    }
}

/// Takes the registry's message apart: an unknown field is named in it, quoted, before the hint.
fn decode_error(path: &str, message: String) -> ArgsError {
    let path = if path == "." { "" } else { path };
    let unknown = message.strip_prefix("unknown field \"").and_then(|it| it.split_once('"'));
    match unknown {
        Some((field, hint)) => {
            let within = path.rsplit('.').next() == Some(field);
            ArgsError::UnknownField {
                path: if within { path.to_owned() } else { child(path, field) },
                hint: hint.trim_start_matches("; ").to_owned(),
            }
        }
        None => ArgsError::Invalid { path: path.to_owned(), message },
    }
}

/// The plugins that upstream knows though their feature gates are off in 1.36: a file may enable
/// them, and that has no effect.
const GATED: [(&str, &[Point]); 3] = [
    ("GangScheduling", &[Point::PreEnqueue, Point::Permit]),
    ("TopologyPlacementGenerator", &[Point::PlacementGenerate]),
    ("PodGroupPodsCount", &[Point::PlacementScore]),
];

/// Whether `plugin` may be enabled without effect, because its feature gate is off in 1.36. Such a
/// plugin is listed in an effective profile and is not to be built.
pub fn is_gated(plugin: &str) -> bool {
    GATED.iter().any(|(name, _)| *name == plugin)
}

/// The points that `plugin` serves, be it in the catalog or gated.
pub(crate) fn served(catalog: &dyn Catalog, plugin: &str, args: &Value) -> Option<PointSet> {
    let gated = || GATED.iter().find(|(name, _)| *name == plugin);
    catalog
        .points(plugin, args)
        .or_else(|| gated().map(|(_, points)| points.iter().copied().collect()))
}

/// The plugins for which upstream has an argument type: it refuses their unknown fields.
pub(crate) const UPSTREAM_TYPED: [&str; 8] = [
    "DefaultPreemption",
    "DynamicResources",
    "InterPodAffinity",
    "NodeAffinity",
    "NodeResourcesBalancedAllocation",
    "NodeResourcesFit",
    "PodTopologySpread",
    "VolumeBinding",
];

/// The plugin whose arguments upstream checks only when it builds the plugin.
pub(crate) const FIT: &str = "NodeResourcesFit";
