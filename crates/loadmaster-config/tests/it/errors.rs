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

/// From `TLSConfigFor` of client-go, which an extender's client is made with.
#[test]
fn certificates_of_an_extender_must_be_there_and_be_certificates() {
    let told = |tls: &str| {
        let body = format!("extenders:\n- urlPrefix: https://e/\n  tlsConfig: {{{tls}}}\n");
        refused(Stage::Build, &body)
    };
    assert!(
        told("caFile: /nonexistent/ca")
            .ends_with("open /nonexistent/ca: no such file or directory")
    );
    assert!(told("caData: Zm9v").ends_with("unable to parse bytes as PEM block"));
    assert!(told("certData: Zm9v, keyData: Zm9v").ends_with("PEM data in certificate input"));
    assert!(told("caData: Zm9v, insecure: true").ends_with("insecure flag is not allowed"));
}

/// Without TLS nothing is made of a certificate, so nobody looks for it.
#[test]
fn a_certificate_that_is_not_used_need_not_be_there() {
    let text = format!(
        "{HEAD}extenders:\n- urlPrefix: http://e/\n  tlsConfig: {{certFile: /nonexistent/cert}}\n"
    );
    assert!(load(&text, "s.yaml", &InTree).is_ok());
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
