//! The effective configuration as a file again: loading it gives the same configuration.
//!
//! Each profile switches `multiPoint` off and lists every point's plugins in their running order, so
//! nothing depends on the defaults of the version that reads it.

use std::collections::BTreeMap;

use indexmap::IndexMap;
use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::{
    config::{
        API_VERSION, ClientConnection, Extender, KIND, KubeSchedulerConfiguration, LeaderElection,
        is_default,
    },
    load::Loaded,
    plugins::MULTI_POINT,
    points::Point,
    profile::EffectiveProfile,
};

/// A configuration that could not be written, which plain data always can.
#[derive(Debug, thiserror::Error)]
#[error("cannot write the configuration as {notation}")]
pub struct ShowError {
    notation: &'static str,
    source: Box<dyn std::error::Error + Send + Sync>,
}

/// The effective configuration in YAML.
///
/// # Errors
/// [`ShowError`], which does not occur for a loaded configuration.
pub fn show_yaml(loaded: &Loaded) -> Result<String, ShowError> {
    serde_saphyr::to_string(&document(loaded))
        .map_err(|error| ShowError { notation: "YAML", source: Box::new(error) })
}

/// The effective configuration in JSON.
///
/// # Errors
/// [`ShowError`], which does not occur for a loaded configuration.
pub fn show_json(loaded: &Loaded) -> Result<String, ShowError> {
    serde_json::to_string_pretty(&document(loaded))
        .map(|it| it + "\n")
        .map_err(|error| ShowError { notation: "JSON", source: Box::new(error) })
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Shown<'c> {
    api_version: &'static str,
    kind: &'static str,
    parallelism: i32,
    percentage_of_nodes_to_score: i32,
    pod_initial_backoff_seconds: i64,
    pod_max_backoff_seconds: i64,
    #[serde(skip_serializing_if = "is_default")]
    delay_cache_until_active: bool,
    enable_profiling: bool,
    enable_contention_profiling: bool,
    leader_election: &'c LeaderElection,
    client_connection: &'c ClientConnection,
    profiles: Vec<ShownProfile<'c>>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    extenders: &'c [Extender],
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ShownProfile<'c> {
    scheduler_name: &'c str,
    #[serde(skip_serializing_if = "Option::is_none")]
    percentage_of_nodes_to_score: Option<i32>,
    plugins: IndexMap<&'static str, Value>,
    plugin_config: Vec<ShownConfig<'c>>,
}

#[derive(Serialize)]
struct ShownConfig<'c> {
    name: &'c str,
    args: &'c Value,
}

fn document(loaded: &Loaded) -> Shown<'_> {
    let KubeSchedulerConfiguration { leader_election, client_connection, extenders, .. } =
        &loaded.config;
    Shown {
        api_version: API_VERSION,
        kind: KIND,
        parallelism: loaded.config.parallelism,
        percentage_of_nodes_to_score: loaded.config.percentage_of_nodes_to_score,
        pod_initial_backoff_seconds: loaded.config.pod_initial_backoff_seconds,
        pod_max_backoff_seconds: loaded.config.pod_max_backoff_seconds,
        delay_cache_until_active: loaded.config.delay_cache_until_active,
        enable_profiling: loaded.config.enable_profiling,
        enable_contention_profiling: loaded.config.enable_contention_profiling,
        leader_election,
        client_connection,
        profiles: loaded.profiles.iter().map(shown_profile).collect(),
        extenders,
    }
}

fn shown_profile(profile: &EffectiveProfile) -> ShownProfile<'_> {
    let mut plugins = IndexMap::new();
    plugins.insert(MULTI_POINT, json!({"disabled": [{"name": "*"}]}));
    for point in Point::ALL {
        let names = profile.plugins_at(point);
        let enabled: Vec<Value> = match point {
            _ if names.is_empty() => continue,
            Point::Score => scoring(profile)
                .into_iter()
                .map(|(name, weight)| json!({"name": name, "weight": weight}))
                .collect(),
            _ => names.iter().map(|name| json!({"name": name})).collect(),
        };
        plugins.insert(point.field(), json!({"enabled": enabled}));
    }
    // A plugin can be enabled and run nowhere, all of its points being switched off.
    let running = profile.plugin_names();
    ShownProfile {
        scheduler_name: &profile.scheduler_name,
        percentage_of_nodes_to_score: profile.percentage_of_nodes_to_score,
        plugins,
        plugin_config: profile
            .args
            .iter()
            .chain(&profile.unread_args)
            .filter(|(name, _)| running.contains(&***name))
            .map(|(name, args)| ShownConfig { name, args })
            .collect(),
    }
}

/// What scores, with weights, in an order in which the weights add up.
///
/// That is the running order, unless a negative weight was accepted because others came before it:
/// the sum must not fall below zero before the end, so negative weights then go last, the lowest
/// at the very end.
fn scoring(profile: &EffectiveProfile) -> Vec<(&str, i64)> {
    let weights: &BTreeMap<String, i64> = &profile.score_weights;
    let names = profile.plugins_at(Point::Score).iter();
    let mut scoring: Vec<(&str, i64)> =
        names.map(|it| (&**it, weights.get(it).copied().unwrap_or(1))).collect();
    let mut total = 0i64;
    let sinks = scoring.iter().rev().skip(1).rev().any(|(_, weight)| {
        total += weight;
        total < 0
    });
    if sinks {
        scoring.sort_by_key(|&(_, weight)| weight.min(0).saturating_neg());
    }
    scoring
}

/// Arguments in the v1 form, with `apiVersion` and `kind`.
pub(crate) fn with_type(name: &str, args: &Value) -> Value {
    let mut typed = Map::new();
    typed.insert("apiVersion".to_owned(), API_VERSION.into());
    typed.insert("kind".to_owned(), format!("{name}Args").into());
    if let Value::Object(fields) = args {
        typed.extend(fields.clone());
    }
    Value::Object(typed)
}
