//! Which volume serves a claim best.

use serde_json::Value;

use crate::defaults::quantity_nanos;
use crate::selectors::LabelSelector;
use crate::store::{Object, is_being_deleted, text};
use crate::values::list;

/// The smallest free volume that has what the claim asks for; of equal ones the first by name.
pub(super) fn best(volumes: &[Object], claim: &Value) -> Option<Object> {
    let fitting = volumes.iter().filter(|volume| is_free(volume) && fits(volume, claim));
    fitting.min_by_key(|volume| (size(volume), text(volume, "name").to_owned())).cloned()
}

fn is_free(volume: &Value) -> bool {
    volume["spec"]["claimRef"].is_null() && !is_being_deleted(volume)
}

fn fits(volume: &Value, claim: &Value) -> bool {
    let class = |it: &Value| it["spec"]["storageClassName"].as_str().unwrap_or_default().to_owned();
    let mode = |it: &Value| it["spec"]["volumeMode"].as_str().unwrap_or("Filesystem").to_owned();
    let offered = list(volume, "/spec/accessModes");
    let selector = &claim["spec"]["selector"];
    class(volume) == class(claim)
        && mode(volume) == mode(claim)
        && list(claim, "/spec/accessModes").iter().all(|it| offered.contains(it))
        && size(volume) >= requested(claim)
        && (selector.is_null() || LabelSelector::from_object(selector).matches(volume))
}

fn size(volume: &Value) -> i128 {
    quantity_nanos(&volume["spec"]["capacity"]["storage"]).unwrap_or_default()
}

fn requested(claim: &Value) -> i128 {
    quantity_nanos(&claim["spec"]["resources"]["requests"]["storage"]).unwrap_or_default()
}
