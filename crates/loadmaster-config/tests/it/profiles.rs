//! The files under `profiles/` say what their comments say.

use std::{fs, path::Path};

use loadmaster_config::{EffectiveProfile, Loaded, Point, load};
use serde_json::json;

use crate::catalog::InTree;

/// The only profile of a file, and its warnings.
fn profile(name: &str) -> (EffectiveProfile, Vec<String>) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../profiles").join(name);
    let text = fs::read_to_string(path).expect("the file is there");
    let Loaded { config, mut profiles, warnings } =
        load(&text, name, &InTree).expect("the file is good");
    assert!(!config.leader_election.leader_elect);
    assert_eq!(profiles.len(), 1);
    (profiles.remove(0), warnings.iter().map(ToString::to_string).collect())
}

/// As the course has it: at `score` alone, behind the default plugins and with their weights.
#[test]
fn concentrate_is_added_to_the_default_scores() {
    let (profile, warnings) = profile("concentrate.yaml");
    assert_eq!(profile.scheduler_name, "concentrate-scheduler");
    assert_eq!(profile.plugins_at(Point::Score).last().map(String::as_str), Some("Concentrate"));
    assert_eq!(profile.score_weights["Concentrate"], 10);
    assert_eq!(profile.score_weights["PodTopologySpread"], 2);
    assert_eq!(profile.args["Concentrate"]["labelKey"], "app");
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    assert!(warnings[0].contains("Concentrate runs at `score` but not at `preScore`"));
}

#[test]
fn reject_runs_concentrate_as_a_filter_too() {
    let (profile, warnings) = profile("reject.yaml");
    assert_eq!(profile.scheduler_name, "reject-scheduler");
    for point in [Point::Filter, Point::PreScore, Point::Score] {
        assert!(profile.plugins_at(point).contains(&"Concentrate".to_owned()), "{point:?}");
    }
    let args = json!({"labelKey": "app", "rejectEverything": true});
    assert_eq!(profile.args_of("Concentrate"), &args);
    assert_eq!(warnings, Vec::<String>::new());
}

#[test]
fn cache_locality_filters_and_scores() {
    let (profile, warnings) = profile("cache-locality.yaml");
    assert_eq!(profile.scheduler_name, "cache-aware-scheduler");
    assert!(profile.plugins_at(Point::Filter).contains(&"CacheLocality".to_owned()));
    assert_eq!(profile.score_weights["CacheLocality"], 5);
    assert_eq!(warnings, Vec::<String>::new());
}
