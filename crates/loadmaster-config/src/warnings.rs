//! What upstream takes in silence and a person probably did not mean.

use loadmaster_framework::field::{child, element};
use serde_json::Value;

use crate::{
    catalog::{self, Catalog, FIT, is_gated},
    config::{Args, KubeSchedulerConfiguration, PluginConfig, Profile},
    error::{Warning, did_you_mean},
    plugins::PluginRef,
    points::Point,
    profile::EffectiveProfile,
};

/// Warnings about names and weights, which need no profile to be built.
pub(crate) fn of_names(config: &KubeSchedulerConfiguration, catalog: &dyn Catalog) -> Vec<Warning> {
    let mut found = Vec::new();
    for (index, profile) in config.profiles.iter().enumerate() {
        let path = element("profiles", index);
        let plugins = child(&path, "plugins");
        for (field, set) in profile.written.sets() {
            let path = child(&plugins, field);
            let disabled = child(&path, "disabled");
            for (index, plugin) in set.disabled.iter().enumerate() {
                let message = disabled_unknown(&plugin.name, catalog);
                found.extend(message.map(|it| (element(&disabled, index), it)));
            }
            let enabled = child(&path, "enabled");
            for (index, plugin) in set.enabled.iter().enumerate() {
                let path = element(&enabled, index);
                if is_gated(&plugin.name) {
                    let message = format!("{} has no effect: its feature gate is off", plugin.name);
                    found.push((path.clone(), message));
                }
                found.extend(odd_weight(plugin).map(|it| (child(&path, "weight"), it)));
            }
        }
        let path = child(&path, "pluginConfig");
        for (index, entry) in profile.plugin_config.iter().enumerate() {
            let path = element(&path, index);
            found.extend(odd_config(profile, entry, &path, catalog));
        }
    }
    let place = |path: &str| config.places.find(path);
    found
        .into_iter()
        .map(|(path, message)| Warning { place: place(&path), path, message })
        .collect()
}

/// Disabling a plugin that does not exist has no effect, which a slip of the pen hides.
fn disabled_unknown(name: &str, catalog: &dyn Catalog) -> Option<String> {
    if name == "*" || catalog::served(catalog, name, &Value::Null).is_some() {
        return None;
    }
    let hint = did_you_mean(name, catalog.names()).map(|it| format!(" ({it})")).unwrap_or_default();
    Some(format!("no plugin is named {name:?}, so disabling it has no effect{hint}"))
}

fn odd_weight(plugin: &PluginRef) -> Option<String> {
    let name = &plugin.name;
    match plugin.weight {
        Some(0) => Some(format!(
            "weight 0 of {name} means 1; list the plugin under `score.disabled` to stop it scoring"
        )),
        Some(weight @ ..0) => Some(format!(
            "weight {weight} of {name} is negative: it prefers the nodes that the plugin scores low"
        )),
        _ => None,
    }
}

fn odd_config(
    profile: &Profile,
    entry: &PluginConfig,
    path: &str,
    catalog: &dyn Catalog,
) -> Vec<(String, String)> {
    let name = &entry.name;
    let args = child(path, "args");
    let enabled = profile.plugins.names().contains(&&**name);
    let mut found = Vec::new();
    if !enabled {
        let hint = match catalog::served(catalog, name, &Value::Null) {
            Some(_) => None,
            None => did_you_mean(name, catalog.names()),
        };
        let hint = hint.map(|it| format!(" ({it})")).unwrap_or_default();
        let message =
            format!("plugin {name:?} is not enabled, so its arguments are not used{hint}");
        found.push((path.to_owned(), message));
    }
    match &entry.args {
        Args::Raw(Value::Object(fields)) if enabled => {
            for field in fields.keys().filter(|it| !matches!(&***it, "apiVersion" | "kind")) {
                let message = format!("{name} takes no arguments: this is not read");
                found.push((child(&args, field), message));
            }
        }
        // Upstream does not look at these values as long as the plugin is off.
        Args::Typed(value) if name == FIT && !enabled => {
            for error in catalog.validate_args(name, value, &args) {
                let message = error.to_string();
                let message = message.strip_prefix(&*error.path).unwrap_or(&message);
                found.push((error.path.clone(), message.trim_start_matches(": ").to_owned()));
            }
        }
        _ => {}
    }
    found
}

/// Warnings about plugins that run at one point without the other that belongs to it.
pub(crate) fn of_companions(
    config: &KubeSchedulerConfiguration,
    index: usize,
    built: &EffectiveProfile,
    catalog: &dyn Catalog,
) -> Vec<Warning> {
    let mut found = Vec::new();
    for (point, companion, consequence) in COMPANIONS {
        for name in built.plugins_at(point) {
            let serves =
                catalog.points(name, built.args_of(name)).is_some_and(|it| it.contains(companion));
            if !serves || built.plugins_at(companion).iter().any(|it| it == name) {
                continue;
            }
            let (point, companion) = (point.field(), companion.field());
            let path = child(&child(&element("profiles", index), "plugins"), point);
            let place = config.places.find(&path);
            let message =
                format!("{name} runs at `{point}` but not at `{companion}`: {consequence}");
            found.push(Warning { path, place, message });
        }
    }
    found
}

/// A point, the one that belongs to it, and what it means to go without.
const COMPANIONS: [(Point, Point, &str); 4] = [
    (Point::Score, Point::PreScore, "what is computed once per pod is computed on demand"),
    (Point::PreScore, Point::Score, "what it prepares is not used"),
    (Point::Filter, Point::PreFilter, "what is computed once per pod is computed on demand"),
    (Point::PreFilter, Point::Filter, "what it prepares is not used"),
];
