use serde_json::{Value, json};

use super::*;

/// The effective arguments that a written text comes to.
fn effective<T: serde::de::DeserializeOwned + serde::Serialize>(written: Value) -> Value {
    let read: T = serde_json::from_value(written).expect("the arguments are well formed");
    serde_json::to_value(read).expect("arguments are plain data")
}

fn refused<T: serde::de::DeserializeOwned>(written: Value) -> String {
    serde_json::from_value::<T>(written).err().expect("the arguments are refused").to_string()
}

/// As in the decision `effective` of a recorded default profile.
#[test]
fn nothing_written_gives_the_defaults_of_upstream() {
    let empty = || json!({});
    assert_eq!(
        effective::<DefaultPreemptionArgs>(empty()),
        json!({"minCandidateNodesPercentage": 10, "minCandidateNodesAbsolute": 100})
    );
    assert_eq!(
        effective::<DynamicResourcesArgs>(empty()),
        json!({"filterTimeout": "10s", "bindingTimeout": "10m0s"})
    );
    assert_eq!(
        effective::<InterPodAffinityArgs>(empty()),
        json!({"hardPodAffinityWeight": 1, "ignorePreferredTermsOfExistingPods": false})
    );
    assert_eq!(effective::<NodeAffinityArgs>(empty()), empty());
    let resources = json!([{"name": "cpu", "weight": 1}, {"name": "memory", "weight": 1}]);
    assert_eq!(
        effective::<NodeResourcesBalancedAllocationArgs>(empty()),
        json!({"resources": resources})
    );
    assert_eq!(
        effective::<NodeResourcesFitArgs>(empty()),
        json!({"scoringStrategy": {"type": "LeastAllocated", "resources": resources}})
    );
    assert_eq!(effective::<PodTopologySpreadArgs>(empty()), json!({"defaultingType": "System"}));
    assert_eq!(effective::<VolumeBindingArgs>(empty()), json!({"bindTimeoutSeconds": 600}));
}

#[test]
fn a_weight_that_is_missing_or_zero_becomes_one() {
    let written = json!({"resources": [{"name": "cpu", "weight": 0}, {"name": "memory"}, null]});
    assert_eq!(
        effective::<NodeResourcesBalancedAllocationArgs>(written)["resources"],
        json!([
            {"name": "cpu", "weight": 1},
            {"name": "memory", "weight": 1},
            {"name": "", "weight": 1}
        ])
    );
}

#[test]
fn unknown_fields_are_refused_at_any_depth() {
    assert!(refused::<VolumeBindingArgs>(json!({"bindTimeout": 3})).contains("bindTimeout"));
    let nested = json!({"scoringStrategy": {"resource": []}});
    assert!(refused::<NodeResourcesFitArgs>(nested).contains("`resource`"));
    let nested = json!({"addedAffinity": {"required": {}}});
    assert!(refused::<NodeAffinityArgs>(nested).contains("`required`"));
}

#[test]
fn even_an_empty_shape_for_volumes_is_refused() {
    let args: VolumeBindingArgs = serde_json::from_value(json!({"shape": []})).unwrap();
    let errors = args.validate("args");
    assert_eq!(errors.len(), 1);
    assert_eq!(errors[0].path, "args.shape");
    assert!(VolumeBindingArgs::default().validate("args").is_empty());
}

#[test]
fn a_scoring_strategy_without_a_type_keeps_none_and_is_refused() {
    let args: NodeResourcesFitArgs =
        serde_json::from_value(json!({"scoringStrategy": {}})).unwrap();
    let errors = args.validate("");
    assert_eq!(errors.len(), 1);
    assert!(errors[0].to_string().starts_with("scoringStrategy.type: Unsupported value: \"\""));
}

#[test]
fn a_line_is_checked_for_order_and_range() {
    let strategy = json!({"scoringStrategy": {
        "type": "RequestedToCapacityRatio",
        "requestedToCapacityRatio": {"shape": [
            {"utilization": -1, "score": 11}, {"utilization": -1, "score": 0}
        ]},
    }});
    let args: NodeResourcesFitArgs = serde_json::from_value(strategy).unwrap();
    let paths: Vec<String> = args.validate("").into_iter().map(|it| it.path).collect();
    let shape = "scoringStrategy.requestedToCapacityRatio.shape";
    assert_eq!(
        paths,
        [
            format!("{shape}[1].utilization"), // not above the one before
            format!("{shape}[0].utilization"),
            format!("{shape}[0].score"),
            format!("{shape}[1].utilization"),
        ]
    );
}

#[test]
fn constraints_may_not_repeat_a_key_with_the_same_action() {
    let constraint = |key: &str, action: &str| DefaultConstraint {
        max_skew: 1,
        topology_key: key.to_owned(),
        when_unsatisfiable: action.to_owned(),
        ..DefaultConstraint::default()
    };
    let mut args = PodTopologySpreadArgs {
        defaulting_type: "List".to_owned(),
        default_constraints: vec![
            constraint("zone", "DoNotSchedule"),
            constraint("zone", "ScheduleAnyway"),
        ],
    };
    assert!(args.validate("").is_empty());
    args.default_constraints.push(constraint("zone", "ScheduleAnyway"));
    assert_eq!(
        args.validate("")[0].to_string(),
        "defaultConstraints[2]: Duplicate value: \"{zone, ScheduleAnyway}\""
    );
}

#[test]
fn a_preferred_term_of_weight_zero_is_not_looked_at() {
    let term = |weight: i32| {
        let preference = json!({"matchExpressions": [{"key": "a", "operator": "Sure"}]});
        json!({"addedAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [
            {"weight": weight, "preference": preference}
        ]}})
    };
    let read = |it| serde_json::from_value::<NodeAffinityArgs>(it).unwrap();
    assert!(read(term(0)).validate("").is_empty());
    assert!(read(term(1)).validate("")[0].path.ends_with("[0].matchExpressions[0].operator"));
}
