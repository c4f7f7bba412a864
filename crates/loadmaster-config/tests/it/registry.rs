//! A registry of the framework, looked at as a catalog.

use loadmaster_config::{ArgsError, Catalog, Point, RegistryCatalog};
use loadmaster_framework::{
    Cycle, CycleState, FieldError, Filter, Gates, Hooks, NodeInfo, Outcome, Plugin, Registry, Score,
};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// Scores, and filters when its arguments say so.
struct Probe;

#[derive(Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct ProbeArgs {
    filters: bool,
    weight: i64,
    inner: Inner,
}

#[derive(Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Inner {
    label_key: String,
}

impl Plugin for Probe {
    const NAME: &'static str = "Probe";
    type Args = ProbeArgs;

    fn validate(args: &ProbeArgs, path: &str) -> Vec<FieldError> {
        let wrong = (args.weight < 0).then(|| {
            FieldError::invalid(format!("{path}.weight"), args.weight, "must not be negative")
        });
        wrong.into_iter().collect()
    }

    fn build(args: ProbeArgs, _: &Gates) -> Result<Hooks, FieldError> {
        let hooks = Hooks::of(Self).score();
        Ok(if args.filters { hooks.filter().into() } else { hooks.into() })
    }
}

impl Filter for Probe {
    fn filter(&self, _: Cycle<'_>, _: &CycleState, _: &NodeInfo) -> Outcome {
        Ok(())
    }
}

impl Score for Probe {
    fn score(&self, _: Cycle<'_>, _: &CycleState, _: &NodeInfo) -> Outcome<i64> {
        Ok(0)
    }
}

/// A plugin of upstream's that takes no arguments.
struct NodeName;

impl Plugin for NodeName {
    const NAME: &'static str = "NodeName";
    type Args = ();

    fn build((): (), _: &Gates) -> Result<Hooks, FieldError> {
        Ok(Hooks::of(Self).into())
    }
}

fn with_catalog(check: impl FnOnce(RegistryCatalog<'_>)) {
    let mut registry = Registry::default();
    registry.register::<Probe>().expect("the name is free");
    registry.register::<NodeName>().expect("the name is free");
    check(RegistryCatalog::new(&registry, &Gates::default()));
}

#[test]
fn the_points_of_a_plugin_follow_from_its_arguments() {
    with_catalog(|catalog| {
        let served =
            |args: Value, point| catalog.points("Probe", &args).map(|it| it.contains(point));
        assert_eq!(served(Value::Null, Point::Score), Some(true));
        assert_eq!(served(Value::Null, Point::Filter), Some(false));
        assert_eq!(served(json!({"filters": true}), Point::Filter), Some(true));
        // Values that are wrong are found elsewhere; the plugin is known all the same.
        assert_eq!(served(json!({"weight": -1}), Point::Score), Some(true));
        assert_eq!(catalog.points("Prob", &Value::Null), None);
    });
}

#[test]
fn unknown_arguments_are_told_with_their_paths() {
    with_catalog(|catalog| {
        for (written, at) in [
            (json!({"filter": true}), "filter"),
            (json!({"inner": {"labelKy": "a"}}), "inner.labelKy"),
        ] {
            match catalog.decode_args("Probe", &written) {
                Err(ArgsError::UnknownField { path, .. }) => assert_eq!(path, at),
                other => assert_eq!(other.map(|_| ()), Ok(()), "{at} is unknown"),
            }
        }
        let wrong = catalog.decode_args("Probe", &json!({"inner": {"labelKey": 3}}));
        assert!(matches!(wrong, Err(ArgsError::Invalid { path, .. }) if path == "inner.labelKey"));
    });
}

#[test]
fn arguments_are_filled_in_and_checked() {
    with_catalog(|catalog| {
        assert!(catalog.takes_args("Probe") && !catalog.takes_args("NodeName"));
        let effective = catalog.decode_args("Probe", &json!({"weight": -1})).expect("it decodes");
        assert_eq!(effective, json!({"filters": false, "weight": -1, "inner": {"labelKey": ""}}));
        let errors = catalog.validate_args("Probe", &effective, "args");
        let texts: Vec<String> = errors.iter().map(ToString::to_string).collect();
        assert_eq!(texts, ["args.weight: Invalid value: -1: must not be negative"]);
    });
}
