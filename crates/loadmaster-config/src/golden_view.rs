//! What becomes of a document, in the form of the recorded decisions of kube-scheduler 1.36.
//!
//! This is the reference view: `accepted`; for a refused document `stage` and `error` (and `errors`,
//! sorted, when validation found several faults); for an accepted one `effective`, the settings after
//! defaulting.

use serde_json::{Map, Value, json};

use crate::{
    catalog::Catalog,
    error::{ConfigError, Problem, Stage},
    load::{Loaded, load},
    points::Point,
    profile::EffectiveProfile,
    show::with_type,
};

/// Loads `text` and tells what became of it.
pub fn golden_view(text: &str, catalog: &dyn Catalog) -> Value {
    match load(text, "config", catalog) {
        Ok(loaded) => json!({"accepted": true, "effective": effective(&loaded)}),
        Err(error) => refused(&error),
    }
}

fn refused(error: &ConfigError) -> Value {
    let mut texts: Vec<String> = error.problems.iter().map(problem_text).collect();
    let message = match (error.stage, texts.as_slice()) {
        (Stage::Build, [first, ..]) => first.clone(),
        _ => loadmaster_framework::field::aggregate(&texts),
    };
    let mut view = json!({"accepted": false, "stage": error.stage.name(), "error": message});
    if error.stage == Stage::Validate && texts.len() > 1 {
        texts.sort_unstable();
        view["errors"] = texts.into();
    }
    view
}

/// A fault as upstream tells it: without the hint; for a profile, with what was being done.
fn problem_text(problem: &Problem) -> String {
    let Problem { path, message, profile, .. } = problem;
    match profile {
        Some(name) => {
            format!("initializing profiles: creating profile for scheduler name {name}: {message}")
        }
        None if path.is_empty() || message.starts_with("couldn't build") => message.clone(),
        // Upstream gives the path of the other field for the value, which prints as nothing.
        None if path.ends_with(".schedulerName") && message.starts_with(DUPLICATE) => {
            format!("{path}: {DUPLICATE}{{}}")
        }
        None => format!("{path}: {message}"),
    }
}

const DUPLICATE: &str = "Duplicate value: ";

fn effective(loaded: &Loaded) -> Value {
    let config = &loaded.config;
    let sorter = loaded.profiles.first().and_then(|it| it.plugins_at(Point::QueueSort).first());
    json!({
        "parallelism": config.parallelism,
        "percentageOfNodesToScore": config.percentage_of_nodes_to_score,
        "podInitialBackoffSeconds": config.pod_initial_backoff_seconds,
        "podMaxBackoffSeconds": config.pod_max_backoff_seconds,
        "enableProfiling": config.enable_profiling,
        "enableContentionProfiling": config.enable_contention_profiling,
        "leaderElection": config.leader_election,
        "clientConnection": config.client_connection,
        "extenders": config.extenders,
        "queueSort": sorter,
        "profiles": loaded.profiles.iter().map(profile).collect::<Vec<_>>(),
    })
}

fn profile(profile: &EffectiveProfile) -> Value {
    let mut plugins = Map::new();
    for point in Point::ALL {
        let names = profile.plugins_at(point).iter();
        let listed: Value = match point {
            Point::PlacementGenerate | Point::PlacementScore => continue,
            Point::Score => names
                .map(|it| json!({"name": it, "weight": profile.score_weights.get(it)}))
                .collect(),
            _ => names.map(|it| json!(it)).collect(),
        };
        plugins.insert(point.field().to_owned(), listed);
    }
    let typed = profile.args.iter().map(|(name, args)| (name.clone(), with_type(name, args)));
    // `Value` prints its keys sorted, as Go does.
    let raw = profile
        .unread_args
        .iter()
        .map(|(name, args)| (name.clone(), json!({"raw": args.to_string()})));
    let args: Map<String, Value> = typed.chain(raw).collect();
    let mut view = json!({
        "schedulerName": profile.scheduler_name,
        "plugins": plugins,
        "args": args,
    });
    if let Some(percentage) = profile.percentage_of_nodes_to_score {
        view["percentageOfNodesToScore"] = percentage.into();
    }
    view
}
