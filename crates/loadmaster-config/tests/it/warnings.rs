//! What upstream takes in silence is told, and refused when warnings are denied.

use loadmaster_config::{deny_warnings, load};

use crate::catalog::InTree;

fn warnings(body: &str) -> Vec<String> {
    let text = format!(
        "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n{body}"
    );
    let loaded = load(&text, "s.yaml", &InTree).expect("the file is good");
    let told: Vec<String> = loaded.warnings.iter().map(ToString::to_string).collect();
    assert_eq!(deny_warnings(loaded, "s.yaml").is_err(), !told.is_empty());
    told
}

#[test]
fn the_default_profile_gives_none() {
    assert_eq!(warnings(""), Vec::<String>::new());
}

#[test]
fn an_unknown_name_under_disabled() {
    let body = "profiles:\n- plugins:\n    score:\n      disabled: [{name: ImageLocalty}]\n";
    let told = warnings(body);
    assert_eq!(told.len(), 1);
    assert!(told[0].starts_with("profiles[0].plugins.score.disabled[0]: no plugin is named"));
    assert!(told[0].ends_with("(did you mean ImageLocality?)"), "{told:?}");
}

#[test]
fn arguments_for_a_plugin_that_is_not_enabled() {
    let body = "profiles:\n- pluginConfig:\n  - name: Concentrate\n    args: {labelKey: app}\n";
    let told = warnings(body);
    assert_eq!(told.len(), 1);
    assert!(
        told[0].starts_with("profiles[0].pluginConfig[0]: plugin \"Concentrate\" is not enabled")
    );
}

#[test]
fn an_unknown_key_in_the_arguments_of_a_plugin_of_another_make() {
    let body = "profiles:\n- plugins:\n    multiPoint: {enabled: [{name: Concentrate}]}\n  \
                pluginConfig:\n  - name: Concentrate\n    args: {labelKye: a, labelKey: b}\n";
    let told = warnings(body);
    assert_eq!(told.len(), 1);
    assert!(told[0].starts_with("profiles[0].pluginConfig[0].args.labelKye: unknown field"));
}

#[test]
fn arguments_for_a_plugin_that_takes_none() {
    let body = "profiles:\n- pluginConfig:\n  - {name: NodeName, args: {anything: 7}}\n";
    let told = warnings(body);
    let expected =
        "profiles[0].pluginConfig[0].args.anything: NodeName takes no arguments: this is not read";
    assert_eq!(told, [expected]);
}

#[test]
fn a_weight_of_zero_that_means_one() {
    let body = "profiles:\n- plugins:\n    score: {enabled: [{name: ImageLocality, weight: 0}]}\n";
    let told = warnings(body);
    assert_eq!(told.len(), 1);
    assert!(told[0].starts_with("profiles[0].plugins.score.enabled[0].weight: weight 0"));
}

/// Upstream's registry has such plugins whatever the gates say.
#[test]
fn a_plugin_whose_feature_gate_is_off() {
    let body = "profiles:\n- plugins:\n    multiPoint: {enabled: [{name: GangScheduling}]}\n";
    let told = warnings(body);
    let expected = "profiles[0].plugins.multiPoint.enabled[0]: GangScheduling has no effect: its \
                    feature gate is off";
    assert_eq!(told, [expected]);
}

#[test]
fn a_point_without_its_companion() {
    let body = "profiles:\n- plugins:\n    preScore: {disabled: [{name: TaintToleration}]}\n    \
                filter: {disabled: [{name: NodePorts}]}\n";
    let told = warnings(body);
    assert_eq!(told.len(), 2, "{told:?}");
    assert!(told[0].contains("TaintToleration runs at `score` but not at `preScore`"));
    assert!(told[1].contains("NodePorts runs at `preFilter` but not at `filter`"));
}

/// Upstream checks these only when the plugin is built, which it is not here.
#[test]
fn wrong_arguments_of_node_resources_fit_while_it_is_off() {
    let body = "profiles:\n- plugins:\n    multiPoint: {disabled: [{name: NodeResourcesFit}]}\n  \
                pluginConfig:\n  - name: NodeResourcesFit\n    args: {ignoredResources: [-x]}\n";
    let told = warnings(body);
    assert_eq!(told.len(), 2, "{told:?}");
    assert!(told[1].starts_with("profiles[0].pluginConfig[0].args.ignoredResources[0]: Invalid"));
}
