//! Volumes, claims, classes and drivers.

use serde_json::{Value, json};

use super::text::{list, text};

pub(super) fn claim(object: &Value, age: &str) -> Vec<Value> {
    let volume = text(object, "/spec/volumeName");
    let (capacity, modes) = if volume.is_empty() {
        ("", String::new())
    } else {
        (text(object, "/status/capacity/storage"), access_modes(object, "/status/accessModes"))
    };
    vec![
        phase(object).into(),
        volume.into(),
        capacity.into(),
        modes.into(),
        text(object, "/spec/storageClassName").into(),
        object["spec"]["volumeAttributesClassName"].as_str().unwrap_or("<unset>").into(),
        age.into(),
        object["spec"]["volumeMode"].as_str().unwrap_or("<unset>").into(),
    ]
}

pub(super) fn volume(object: &Value, age: &str) -> Vec<Value> {
    let claim = &object["spec"]["claimRef"];
    let claim = match text(claim, "/name") {
        "" => String::new(),
        name => format!("{}/{name}", text(claim, "/namespace")),
    };
    vec![
        text(object, "/spec/capacity/storage").into(),
        access_modes(object, "/spec/accessModes").into(),
        text(object, "/spec/persistentVolumeReclaimPolicy").into(),
        phase(object).into(),
        claim.into(),
        text(object, "/spec/storageClassName").into(),
        object["spec"]["volumeAttributesClassName"].as_str().unwrap_or("<unset>").into(),
        text(object, "/status/reason").into(),
        age.into(),
        object["spec"]["volumeMode"].as_str().unwrap_or("<unset>").into(),
    ]
}

/// All cells, since the name says whether the class is the default one.
pub(super) fn class(object: &Value, age: &str) -> Vec<Value> {
    let annotation =
        &object["metadata"]["annotations"]["storageclass.kubernetes.io/is-default-class"];
    let mut name = text(object, "/metadata/name").to_owned();
    if annotation == "true" {
        name.push_str(" (default)");
    }
    vec![
        name.into(),
        text(object, "/provisioner").into(),
        object["reclaimPolicy"].as_str().unwrap_or("Delete").into(),
        text(object, "/volumeBindingMode").into(),
        json!(object["allowVolumeExpansion"] == true),
        age.into(),
    ]
}

pub(super) fn csi_driver(object: &Value, age: &str) -> Vec<Value> {
    let audiences: Vec<&str> =
        list(object, "/spec/tokenRequests").iter().map(|it| text(it, "/audience")).collect();
    let modes: Vec<&str> =
        list(object, "/spec/volumeLifecycleModes").iter().filter_map(Value::as_str).collect();
    let unset = |texts: Vec<&str>| {
        if texts.is_empty() { "<unset>".to_owned() } else { texts.join(",") }
    };
    let flag = |name: &str| Value::from(object["spec"][name] == true);
    vec![
        flag("attachRequired"),
        flag("podInfoOnMount"),
        flag("storageCapacity"),
        unset(audiences).into(),
        flag("requiresRepublish"),
        unset(modes).into(),
        age.into(),
    ]
}

pub(super) fn attachment(object: &Value, age: &str) -> Vec<Value> {
    vec![
        text(object, "/spec/attacher").into(),
        text(object, "/spec/source/persistentVolumeName").into(),
        text(object, "/spec/nodeName").into(),
        (object["status"]["attached"] == true).into(),
        age.into(),
    ]
}

fn phase(object: &Value) -> &str {
    if object["metadata"]["deletionTimestamp"].is_null() {
        text(object, "/status/phase")
    } else {
        "Terminating"
    }
}

/// Access modes by their abbreviations, in upstream's order.
fn access_modes(object: &Value, pointer: &str) -> String {
    let modes = [
        ("ReadWriteOnce", "RWO"),
        ("ReadOnlyMany", "ROX"),
        ("ReadWriteMany", "RWX"),
        ("ReadWriteOncePod", "RWOP"),
    ];
    let has = |mode: &str| list(object, pointer).iter().any(|it| it == mode);
    let shown: Vec<&str> =
        modes.iter().filter(|(mode, _)| has(mode)).map(|(_, short)| *short).collect();
    shown.join(",")
}
