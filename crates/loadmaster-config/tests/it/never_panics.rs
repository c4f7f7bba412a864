//! No text makes the decoder panic or run for long: any characters, and damaged configurations.

use loadmaster_config::golden_view;
use proptest::prelude::*;

use crate::catalog::InTree;

const SEED: &str = r#"# a configuration with most of the fields
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
parallelism: 0x10
percentageOfNodesToScore: 3.0
podMaxBackoffSeconds: 1_0
enableProfiling: off
leaderElection: {leaderElect: yes, leaseDuration: 1h0m15s, resourceName: "x"}
clientConnection:
  qps: 1e2
extenders:
- &extender
  urlPrefix: http://127.0.0.1/
  filterVerb: filter
  httpTimeout: 1.5s
  managedResources: [{name: a.b/c, ignoredByScheduler: true}]
  tlsConfig: {certData: Zm9v, insecure: true}
profiles:
- schedulerName: a
  plugins: &plugins
    multiPoint:
      disabled: [{name: '*'}]
      enabled:
      - {name: PrioritySort}
      - {name: DefaultBinder}
      - {name: NodeResourcesFit, weight: -3}
    score: {enabled: [{name: NodeResourcesFit, weight: 2147483647}]}
  pluginConfig:
  - name: NodeResourcesFit
    args:
      scoringStrategy:
        type: RequestedToCapacityRatio
        requestedToCapacityRatio: {shape: [{utilization: 0, score: 0}]}
  - name: PodTopologySpread
    args: {defaultingType: List, defaultConstraints: [{maxSkew: 1, topologyKey: zone}]}
- schedulerName: b
  plugins: *plugins
"#;

/// The seed with some characters replaced, doubled or taken out.
fn damaged() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        Just(String::new()),
        "[-:{}\\[\\],&*#?|>'\"%@`!~ \n\t]",
        "\\PC",
        Just("<<: *plugins".to_owned()),
        Just("null".to_owned()),
        Just("9223372036854775808".to_owned()),
        Just("{".to_owned()),
    ];
    let cuts = prop::collection::vec((0..SEED.chars().count(), 0usize..30, piece), 1..6);
    cuts.prop_map(|cuts| {
        let mut text: Vec<char> = SEED.chars().collect();
        for (at, length, piece) in cuts {
            let at = at.min(text.len());
            let end = (at + length).min(text.len());
            text.splice(at..end, piece.chars());
        }
        text.into_iter().collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..Default::default() })]

    #[test]
    fn a_damaged_configuration_is_answered(text in damaged()) {
        let view = golden_view(&text, &InTree);
        prop_assert_eq!(view["accepted"] == true, view["effective"].is_object());
    }

    #[test]
    fn any_text_is_answered(text in "(?s)\\PC{0,80}|.{0,80}") {
        golden_view(&text, &InTree);
    }

    #[test]
    fn any_json_is_answered(text in "\\{[\\[\\]{}\",:a-f0-9eE.+-]{0,60}") {
        golden_view(&text, &InTree);
    }
}

#[test]
fn the_seed_itself_reaches_the_last_stage() {
    assert_eq!(golden_view(SEED, &InTree)["stage"], "validate");
}

#[test]
fn deep_nesting_and_long_words_are_answered() {
    for text in [
        "[".repeat(100_000),
        "{\"a\":".repeat(100_000),
        "- ".repeat(100_000),
        format!("apiVersion: {}", "x".repeat(1_000_000)),
        format!("{}: 1\n", "x".repeat(1_000)).repeat(200),
    ] {
        assert_eq!(golden_view(&text, &InTree)["accepted"], false);
    }
}
