//! The plugins that a profile names, point by point, and how a person's choice is laid over the
//! defaults.
//!
//! Source: `pkg/scheduler/apis/config/v1/default_plugins.go`, 1.36 with its default feature gates.

use std::fmt;

use serde::{
    Deserialize, Deserializer,
    de::{Error as _, MapAccess, Visitor},
};

use crate::points::Point;

/// The plugins of a profile: those of `multiPoint`, which stand for every point that they serve, and
/// those of single points.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plugins {
    /// `multiPoint`.
    pub multi_point: PluginSet,
    points: [PluginSet; Point::ALL.len()],
}

/// Plugins switched on and off at a point.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PluginSet {
    /// Switched on, in this order.
    pub enabled: Vec<PluginRef>,
    /// Switched off; the name `*` is all of the defaults.
    pub disabled: Vec<PluginRef>,
}

/// A plugin named at a point.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PluginRef {
    /// Its name.
    pub name: String,
    /// How much its score counts; absent and 0 are 1.
    pub weight: Option<i32>,
}

impl PluginRef {
    fn of(name: &str, weight: Option<i32>) -> Self {
        Self { name: name.to_owned(), weight }
    }

    /// The weight as upstream keeps it: absent is 0.
    pub fn raw_weight(&self) -> i32 {
        self.weight.unwrap_or(0)
    }
}

impl PluginSet {
    /// Whether `name`, or everything, is switched off here.
    pub fn disables(&self, name: &str) -> bool {
        self.disabled.iter().any(|it| it.name == name)
    }

    /// Lays `custom` over these defaults: a default that is named again keeps its place and takes
    /// the new weight, other names follow in their order.
    fn overlaid(&self, custom: &Self) -> Self {
        let mut disabled: Vec<PluginRef> =
            custom.disabled.iter().map(|it| PluginRef::of(&it.name, None)).collect();
        disabled.extend(self.disabled.iter().map(|it| PluginRef::of(&it.name, None)));
        let off = |name: &str| disabled.iter().any(|it| it.name == name);
        let mut enabled = Vec::new();
        let mut replaced = vec![false; custom.enabled.len()];
        if !off("*") {
            for default in self.enabled.iter().filter(|it| !off(&it.name)) {
                // Of several with one name the last takes the place; the others stay, and the
                // repetition is found when the profile is built.
                let again = custom.enabled.iter().rposition(|it| it.name == default.name);
                if let Some(index) = again {
                    replaced[index] = true;
                }
                enabled.push(again.map_or(default, |it| &custom.enabled[it]).clone());
            }
        }
        let rest = custom.enabled.iter().zip(replaced).filter(|(_, replaced)| !replaced);
        enabled.extend(rest.map(|(plugin, _)| plugin.clone()));
        Self { enabled, disabled }
    }
}

impl Plugins {
    /// The default plugins in their order.
    pub fn defaults() -> Self {
        let enabled = DEFAULTS.iter().map(|&(name, weight)| PluginRef::of(name, weight)).collect();
        let multi_point = PluginSet { enabled, disabled: Vec::new() };
        Self { multi_point, ..Self::default() }
    }

    /// The set at `point`.
    pub fn at(&self, point: Point) -> &PluginSet {
        &self.points[point as usize]
    }

    pub(crate) fn at_mut(&mut self, point: Point) -> &mut PluginSet {
        &mut self.points[point as usize]
    }

    /// The defaults with a person's choice laid over them.
    #[must_use]
    pub fn merged(custom: &Self) -> Self {
        let defaults = Self::defaults();
        let mut merged =
            Self { multi_point: defaults.multi_point.overlaid(&custom.multi_point), ..defaults };
        for point in Point::ALL {
            // Single points have no defaults: all of them come by way of `multiPoint`.
            *merged.at_mut(point) = PluginSet::default().overlaid(custom.at(point));
        }
        merged
    }

    /// Every set with the name of its field, `multiPoint` last.
    pub fn sets(&self) -> impl Iterator<Item = (&'static str, &PluginSet)> {
        let points = Point::ALL.into_iter().map(|it| (it.field(), self.at(it)));
        points.chain([(MULTI_POINT, &self.multi_point)])
    }

    /// The name of every plugin that is switched on anywhere, sorted.
    pub fn names(&self) -> Vec<&str> {
        let mut names: Vec<&str> =
            self.sets().flat_map(|(_, set)| &set.enabled).map(|it| &*it.name).collect();
        names.sort_unstable();
        names.dedup();
        names
    }
}

impl<'de> Deserialize<'de> for Plugins {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_struct("Plugins", &FIELDS, PluginsVisitor)
    }
}

struct PluginsVisitor;

impl<'de> Visitor<'de> for PluginsVisitor {
    type Value = Plugins;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a map of extension points")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Plugins, A::Error> {
        let mut plugins = Plugins::default();
        while let Some(name) = access.next_key::<String>()? {
            let set = if name == MULTI_POINT {
                &mut plugins.multi_point
            } else {
                let point = Point::ALL.into_iter().find(|it| it.field() == name);
                plugins.at_mut(point.ok_or_else(|| A::Error::unknown_field(&name, &FIELDS))?)
            };
            *set = access.next_value()?;
        }
        Ok(plugins)
    }
}

/// Whether `name` is one of the default plugins.
pub(crate) fn is_default(name: &str) -> bool {
    DEFAULTS.iter().any(|(it, _)| *it == name)
}

pub(crate) const MULTI_POINT: &str = "multiPoint";

/// The fields of `plugins`.
const FIELDS: [&str; 15] = [
    "preEnqueue",
    "queueSort",
    "preFilter",
    "filter",
    "postFilter",
    "preScore",
    "score",
    "reserve",
    "permit",
    "preBind",
    "bind",
    "postBind",
    MULTI_POINT,
    "placementGenerate",
    "placementScore",
];

/// The default plugins with their weights. `DynamicResources` comes before `DefaultPreemption`,
/// since taking back an idle claim does less harm than an eviction.
const DEFAULTS: [(&str, Option<i32>); 20] = [
    ("SchedulingGates", None),
    ("PrioritySort", None),
    ("NodeUnschedulable", None),
    ("NodeName", None),
    ("TaintToleration", Some(3)),
    ("NodeAffinity", Some(2)),
    ("NodePorts", None),
    ("NodeResourcesFit", Some(1)),
    ("VolumeRestrictions", None),
    ("NodeVolumeLimits", None),
    ("VolumeBinding", None),
    ("VolumeZone", None),
    ("PodTopologySpread", Some(2)),
    ("InterPodAffinity", Some(2)),
    ("DynamicResources", Some(2)),
    ("DefaultPreemption", None),
    ("NodeResourcesBalancedAllocation", Some(1)),
    ("ImageLocality", Some(1)),
    ("DefaultBinder", None),
    ("NodeDeclaredFeatures", None),
];

#[cfg(test)]
mod tests {
    use super::*;

    fn set(enabled: &[(&str, i32)], disabled: &[&str]) -> PluginSet {
        PluginSet {
            enabled: enabled.iter().map(|&(name, it)| PluginRef::of(name, Some(it))).collect(),
            disabled: disabled.iter().map(|name| PluginRef::of(name, None)).collect(),
        }
    }

    #[test]
    fn a_default_that_is_named_again_keeps_its_place_with_the_new_weight() {
        let defaults = set(&[("A", 1), ("B", 2), ("C", 3)], &[]);
        let custom = set(&[("X", 9), ("B", 7)], &[]);
        assert_eq!(
            defaults.overlaid(&custom).enabled,
            set(&[("A", 1), ("B", 7), ("C", 3), ("X", 9)], &[]).enabled
        );
    }

    #[test]
    fn what_is_disabled_and_enabled_again_goes_to_the_end() {
        let defaults = set(&[("A", 1), ("B", 2)], &[]);
        let merged = defaults.overlaid(&set(&[("A", 5)], &["A"]));
        assert_eq!(merged, set(&[("B", 2), ("A", 5)], &["A"]));
    }

    #[test]
    fn a_star_leaves_only_what_is_named() {
        let defaults = set(&[("A", 1), ("B", 2)], &[]);
        assert_eq!(defaults.overlaid(&set(&[("B", 4)], &["*"])), set(&[("B", 4)], &["*"]));
    }

    #[test]
    fn of_a_default_named_twice_the_last_takes_its_place_and_the_first_stays() {
        let merged = set(&[("A", 1)], &[]).overlaid(&set(&[("A", 2), ("A", 3)], &[]));
        assert_eq!(merged.enabled, set(&[("A", 3), ("A", 2)], &[]).enabled);
    }
}
