//! What a person reads when a file is refused: file, place, path, the nearest right word.

use loadmaster_config::{Stage, load};

use crate::catalog::InTree;

const HEAD: &str = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n";

fn refused(stage: Stage, body: &str) -> String {
    let error = load(&format!("{HEAD}{body}"), "s.yaml", &InTree).expect_err("the file is wrong");
    assert_eq!(error.stage, stage, "{error}");
    error.to_string()
}

#[test]
fn every_unknown_field_is_named_with_its_place_and_the_nearest_word() {
    let body = "paralelism: 3\nprofiles:\n- plugins:\n    scores:\n      enabled: []\n";
    assert_eq!(
        refused(Stage::Decode, body),
        "s.yaml:3:13: paralelism: unknown field (did you mean parallelism?)\n\
         s.yaml:7:7: profiles[0].plugins.scores: unknown field (did you mean score?)"
    );
}

#[test]
fn a_wrong_type_says_what_was_expected_and_what_is_there() {
    assert_eq!(
        refused(Stage::Decode, "parallelism: \"3\"\n"),
        "s.yaml:3:14: parallelism: expected a 32-bit whole number, found the text \"3\" \
         (numbers are written without quotes)"
    );
    assert_eq!(
        refused(Stage::Decode, "profiles:\n- schedulerName: 3\n"),
        "s.yaml:4:18: profiles[0].schedulerName: expected a text, found the number 3 \
         (put it in quotes)"
    );
}

#[test]
fn a_wrong_api_version_says_the_right_one() {
    let text =
        "apiVersion: kubescheduler.config.k8s.io/v1beta3\nkind: KubeSchedulerConfiguration\n";
    let error = load(text, "s.yaml", &InTree).unwrap_err().to_string();
    assert!(error.starts_with("s.yaml:1:13: apiVersion: "), "{error}");
    assert!(error.ends_with("(write kubescheduler.config.k8s.io/v1)"), "{error}");
}

#[test]
fn a_misspelt_plugin_is_found_where_it_is_enabled() {
    let body = "profiles:\n- plugins:\n    filter:\n      enabled:\n      - name: NodePorts\n      - \
                name: NodeResourceFit\n";
    assert_eq!(
        refused(Stage::Build, body),
        "s.yaml:8:9: profiles[0].plugins.filter.enabled[1]: FilterPlugin \"NodeResourceFit\" does \
         not exist (did you mean NodeResourcesFit?)"
    );
}

#[test]
fn a_negative_weight_is_found_where_it_is_written() {
    let body = "profiles:\n- plugins:\n    score:\n      enabled:\n      - {name: Concentrate, \
                weight: -10}\n";
    assert_eq!(
        refused(Stage::Build, body),
        "s.yaml:7:37: profiles[0].plugins.score.enabled[0].weight: score plugins: total score of \
         Score plugins could overflow (weights must not be negative, and their sum must stay in \
         range)"
    );
}

#[test]
fn every_wrong_value_is_named() {
    let body = "percentageOfNodesToScore: 101\nprofiles:\n- {}\n- {}\n";
    assert_eq!(
        refused(Stage::Validate, body),
        "s.yaml:5:3: profiles[0].schedulerName: Required value\n\
         s.yaml:6:3: profiles[1].schedulerName: Required value\n\
         s.yaml:6:3: profiles[1].schedulerName: Duplicate value: \"\"\n\
         s.yaml:3:27: percentageOfNodesToScore: Invalid value: 101: not in valid range [0-100]"
    );
}

#[test]
fn an_unknown_argument_of_an_in_tree_plugin_is_an_error() {
    let body = "profiles:\n- pluginConfig:\n  - name: InterPodAffinity\n    args:\n      \
                hardPodAffinityWeigh: 3\n";
    let error = refused(Stage::Decode, body);
    let path = "s.yaml:7:29: profiles[0].pluginConfig[0].args.hardPodAffinityWeigh: unknown field";
    assert!(error.starts_with(path), "{error}");
}

/// Upstream opens the files of an extender when it makes its client.
#[test]
fn a_certificate_that_is_not_there_is_found_when_extenders_are_built() {
    let body = "extenders:\n- urlPrefix: https://e/\n  tlsConfig: {caFile: /nonexistent/ca}\n";
    assert!(refused(Stage::Build, body).contains("open /nonexistent/ca: "));
}

/// From `buildExtenders`: the resources go to the plugin's arguments, which must be there.
#[test]
fn resources_for_an_extender_need_the_plugin_that_shall_ignore_them() {
    let body = "profiles:\n- plugins:\n    multiPoint:\n      disabled: [{name: NodeResourcesFit}]\n\
                extenders:\n- urlPrefix: http://e/\n  managedResources: [{name: a.b/c, \
                ignoredByScheduler: true}]\n";
    assert!(refused(Stage::Build, body).contains("can't find NodeResourcesFitArgs"));
}

/// `json.Unmarshal` gives a `null` duration to its own decoder, which refuses the empty text.
#[test]
fn a_duration_must_not_be_null_and_carries_a_unit() {
    for value in ["null", "15", "\"15\"", "1d"] {
        let body = format!("leaderElection:\n  leaseDuration: {value}\n");
        assert!(refused(Stage::Decode, &body).contains("leaderElection.leaseDuration"), "{value}");
    }
}
