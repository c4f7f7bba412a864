//! What is shown loads to what was loaded.

use loadmaster_config::{Loaded, load, show_json, show_yaml};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::catalog::InTree;

fn loaded(text: &str) -> Loaded {
    load(text, "shown", &InTree).expect("the text is a good configuration")
}

/// Shows and loads again, in both notations.
fn check(first: &Loaded) {
    let yaml = |it: &Loaded| show_yaml(it).expect("plain data is written");
    let json = |it: &Loaded| show_json(it).expect("plain data is written");
    let again = loaded(&yaml(first));
    same(&yaml(&again), &yaml(first));
    same(&json(&again), &json(first));
    same(&json(&loaded(&json(first))), &json(first));
}

/// Names the first line that differs, since the texts are long.
fn same(got: &str, want: &str) {
    let differing = got.lines().zip(want.lines()).find(|(got, want)| got != want);
    assert_eq!(differing, None);
    assert_eq!(got.len(), want.len());
}

#[test]
fn the_default_configuration_survives() {
    let text = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n";
    let first = loaded(text);
    check(&first);
    let again = loaded(&show_yaml(&first).expect("plain data is written"));
    assert_eq!(first.profiles, again.profiles);
}

/// Accepted because 24194 comes first in the sum, though the running order has it last.
#[test]
fn a_negative_weight_that_was_accepted_is_accepted_again() {
    let text = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n\
        profiles:\n- plugins:\n    multiPoint:\n      disabled: [{name: '*'}]\n      enabled:\n      \
        - {name: InterPodAffinity, weight: -37}\n      - {name: DefaultBinder}\n      \
        - {name: PrioritySort}\n      - {name: TaintToleration, weight: 2}\n    score:\n      \
        enabled: [{name: NodeResourcesBalancedAllocation, weight: 24194}]\n";
    check(&loaded(text));
}

/// A text that YAML 1.1 or 1.2 could take for something else.
fn word() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-z][a-z0-9-]{0,12}",
        prop::sample::select(vec![
            "yes", "off", "y", "0x3", "1_0", "~", "null", "1e3", "- a", "a: b", "#"
        ])
        .prop_map(str::to_owned),
        "\\PC{1,6}",
    ]
}

const SCORING: [&str; 6] = [
    "TaintToleration",
    "NodeAffinity",
    "NodeResourcesFit",
    "ImageLocality",
    "NodeResourcesBalancedAllocation",
    "Concentrate",
];

fn plugins() -> impl Strategy<Value = Value> {
    let enabled = || {
        let weight = prop::option::of(prop_oneof![-50..200i32, Just(i32::MAX)]);
        prop::sample::subsequence(SCORING.to_vec(), 0..4).prop_shuffle().prop_flat_map(
            move |names| {
                let count = names.len();
                (Just(names), prop::collection::vec(weight.clone(), count)).prop_map(
                    |(names, weights)| {
                        let entries = names.iter().zip(weights);
                        entries
                            .map(|(name, weight)| json!({"name": name, "weight": weight}))
                            .collect()
                    },
                )
            },
        )
    };
    let disabled = || {
        let names = prop_oneof![
            prop::sample::subsequence(SCORING.to_vec(), 0..3),
            Just(vec!["*"]),
            Just(vec!["NoSuch"]),
        ];
        names.prop_map(|it| it.iter().map(|name| json!({"name": name})).collect::<Value>())
    };
    (enabled(), enabled(), disabled(), disabled()).prop_map(
        |(multi, score, off, pre): (Value, Value, _, _)| {
            json!({
                "multiPoint": {"enabled": multi},
                "score": {"enabled": score, "disabled": off},
                "preScore": {"disabled": pre},
            })
        },
    )
}

fn document() -> impl Strategy<Value = Value> {
    let profile = (word(), prop::option::of(0..=100i32), plugins(), word(), 0..=100i32);
    let settings = (1..64i32, -1000..1_000_000i64, any::<bool>(), -3.0e4..3.0e4f32, word());
    (settings, prop::collection::vec(profile, 1..3)).prop_map(|(settings, profiles)| {
        let (parallelism, millis, flag, qps, text) = settings;
        let profiles: Vec<Value> = profiles
            .into_iter()
            .enumerate()
            .map(|(index, (name, percentage, plugins, key, weight))| {
                json!({
                    "schedulerName": format!("{name}{index}"),
                    "percentageOfNodesToScore": percentage,
                    "plugins": plugins,
                    "pluginConfig": [
                        {"name": "InterPodAffinity", "args": {"hardPodAffinityWeight": weight}},
                        {"name": "Concentrate", "args": {"labelKey": key}},
                        {"name": "NodeName", "args": {"x": key}},
                    ],
                })
            })
            .collect();
        json!({
            "apiVersion": "kubescheduler.config.k8s.io/v1",
            "kind": "KubeSchedulerConfiguration",
            "parallelism": parallelism,
            "enableProfiling": flag,
            "delayCacheUntilActive": flag,
            "leaderElection": {"leaderElect": false, "leaseDuration": format!("{millis}ms")},
            "clientConnection": {"qps": qps, "kubeconfig": text},
            "extenders": [{
                "urlPrefix": text,
                "filterVerb": "f",
                "httpTimeout": format!("{millis}us"),
                "managedResources": [{"name": "a.b/c", "ignoredByScheduler": flag}],
            }],
            "profiles": profiles,
        })
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..Default::default() })]

    #[test]
    fn any_configuration_survives(document in document()) {
        // Weights may be refused; what is refused is not shown.
        if let Ok(first) = load(&document.to_string(), "first", &InTree) {
            check(&first);
        }
    }
}
