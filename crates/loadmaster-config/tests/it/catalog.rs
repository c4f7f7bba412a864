//! The in-tree plugins of kube-scheduler 1.36, and some of another make.
//!
//! The points are those of the recorded default profile.

use loadmaster_config::{ArgsError, Catalog, Point, PointSet};
use loadmaster_framework::FieldError;
use loadmaster_plugins::in_tree::args::{
    DefaultPreemptionArgs, DynamicResourcesArgs, InterPodAffinityArgs, NodeAffinityArgs,
    NodeResourcesBalancedAllocationArgs, NodeResourcesFitArgs, PodTopologySpreadArgs,
    VolumeBindingArgs,
};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::Value;

pub(crate) struct InTree;

/// Arguments of a plugin of another make, like the course's `Concentrate`.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
struct ConcentrateArgs {
    label_key: String,
    reject_everything: bool,
}

impl Default for ConcentrateArgs {
    fn default() -> Self {
        Self { label_key: "app".to_owned(), reject_everything: false }
    }
}

const NAMES: [&str; 23] = [
    "SchedulingGates",
    "PrioritySort",
    "NodeUnschedulable",
    "NodeName",
    "TaintToleration",
    "NodeAffinity",
    "NodePorts",
    "NodeResourcesFit",
    "VolumeRestrictions",
    "NodeVolumeLimits",
    "VolumeBinding",
    "VolumeZone",
    "PodTopologySpread",
    "InterPodAffinity",
    "DynamicResources",
    "DefaultPreemption",
    "NodeResourcesBalancedAllocation",
    "ImageLocality",
    "DefaultBinder",
    "NodeDeclaredFeatures",
    "Concentrate",
    "CacheLocality",
    "OtherSort",
];

impl Catalog for InTree {
    fn names(&self) -> Vec<&str> {
        NAMES.to_vec()
    }

    fn points(&self, plugin: &str, args: &Value) -> Option<PointSet> {
        use Point::{
            Bind, Filter, PostFilter, PreBind, PreEnqueue, PreFilter, PreScore, QueueSort, Reserve,
            Score,
        };
        let points: &[Point] = match plugin {
            "SchedulingGates" => &[PreEnqueue],
            "PrioritySort" | "OtherSort" => &[QueueSort],
            "NodeUnschedulable" | "NodeName" => &[Filter],
            "TaintToleration" => &[Filter, PreScore, Score],
            "NodeAffinity" | "NodeResourcesFit" | "PodTopologySpread" | "InterPodAffinity" => {
                &[PreFilter, Filter, PreScore, Score]
            }
            "NodePorts"
            | "VolumeRestrictions"
            | "NodeVolumeLimits"
            | "VolumeZone"
            | "NodeDeclaredFeatures" => &[PreFilter, Filter],
            "VolumeBinding" => &[PreFilter, Filter, PreScore, Score, Reserve, PreBind],
            "DynamicResources" => {
                &[PreEnqueue, PreFilter, Filter, PostFilter, Score, Reserve, PreBind]
            }
            "DefaultPreemption" => &[PreEnqueue, PostFilter],
            "ImageLocality" => &[Score],
            "CacheLocality" => &[Filter, Score],
            "DefaultBinder" => &[Bind],
            "Concentrate" if args["rejectEverything"] == true => &[Filter, PreScore, Score],
            "NodeResourcesBalancedAllocation" | "Concentrate" => &[PreScore, Score],
            _ => return None,
        };
        Some(points.iter().copied().collect())
    }

    fn takes_args(&self, plugin: &str) -> bool {
        self.decode_args(plugin, &Value::Null).is_ok_and(|it| it.is_object())
    }

    fn decode_args(&self, plugin: &str, written: &Value) -> Result<Value, ArgsError> {
        match plugin {
            "DefaultPreemption" => effective::<DefaultPreemptionArgs>(written),
            "DynamicResources" => effective::<DynamicResourcesArgs>(written),
            "InterPodAffinity" => effective::<InterPodAffinityArgs>(written),
            "NodeAffinity" => effective::<NodeAffinityArgs>(written),
            "NodeResourcesBalancedAllocation" => {
                effective::<NodeResourcesBalancedAllocationArgs>(written)
            }
            "NodeResourcesFit" => effective::<NodeResourcesFitArgs>(written),
            "PodTopologySpread" => effective::<PodTopologySpreadArgs>(written),
            "VolumeBinding" => effective::<VolumeBindingArgs>(written),
            "Concentrate" => effective::<ConcentrateArgs>(written),
            _ => Ok(Value::Null),
        }
    }

    fn validate_args(&self, plugin: &str, args: &Value, path: &str) -> Vec<FieldError> {
        // Nothing is written: the defaults are right.
        if args.is_null() {
            return Vec::new();
        }
        match plugin {
            "DefaultPreemption" => read::<DefaultPreemptionArgs>(args).validate(path),
            "DynamicResources" => read::<DynamicResourcesArgs>(args).validate(path),
            "InterPodAffinity" => read::<InterPodAffinityArgs>(args).validate(path),
            "NodeAffinity" => read::<NodeAffinityArgs>(args).validate(path),
            "NodeResourcesBalancedAllocation" => {
                read::<NodeResourcesBalancedAllocationArgs>(args).validate(path)
            }
            "NodeResourcesFit" => read::<NodeResourcesFitArgs>(args).validate(path),
            "PodTopologySpread" => read::<PodTopologySpreadArgs>(args).validate(path),
            "VolumeBinding" => read::<VolumeBindingArgs>(args).validate(path),
            _ => Vec::new(),
        }
    }
}

fn read<T: DeserializeOwned>(args: &Value) -> T {
    serde_json::from_value(args.clone()).expect("effective arguments decode")
}

fn effective<T: DeserializeOwned + Serialize + Default>(
    written: &Value,
) -> Result<Value, ArgsError> {
    let args: T = if written.is_null() {
        T::default()
    } else {
        serde_json::from_value(written.clone()).map_err(|error| {
            let message = error.to_string();
            match message.strip_prefix("unknown field `").and_then(|it| it.split_once('`')) {
                Some((field, rest)) => {
                    ArgsError::UnknownField { path: field.to_owned(), hint: rest.to_owned() }
                }
                None => ArgsError::Invalid { path: String::new(), message },
            }
        })?
    };
    Ok(serde_json::to_value(args).expect("arguments are plain data"))
}
