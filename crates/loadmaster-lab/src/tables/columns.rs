//! Column definitions by kind.

use serde_json::{Value, json};

/// The `columnDefinitions` of a kind's table.
pub fn columns(kind: &str) -> Value {
    let definitions = COLUMNS.iter().find(|(it, _)| *it == kind).map_or(GENERIC, |(_, it)| it);
    definitions.split(" · ").map(definition).collect()
}

/// One column from its short form: `*` marks one for `-o wide`, `:` its type.
fn definition(short: &str) -> Value {
    let (short, priority) = short.strip_suffix('*').map_or((short, 0), |it| (it, 1));
    let (name, kind) = short.split_once(':').unwrap_or((short, "string"));
    let (kind, format) = match (name, kind) {
        ("Name", _) => ("string", "name"),
        (_, "date") => ("string", "date"),
        (_, kind) => (kind, ""),
    };
    json!({"name": name, "type": kind, "format": format, "description": "", "priority": priority})
}

const GENERIC: &str = "Name · Age";

const COLUMNS: [(&str, &str); 31] = [
    (
        "Pod",
        "Name · Ready · Status · Restarts · Age · IP* · Node* · Nominated Node* · Readiness Gates*",
    ),
    (
        "Node",
        "Name · Status · Roles · Age · Version · Internal-IP* · External-IP* · OS-Image* · Kernel-Version* · Container-Runtime*",
    ),
    (
        "Deployment",
        "Name · Ready · Up-to-date · Available · Age · Containers* · Images* · Selector*",
    ),
    (
        "ReplicaSet",
        "Name · Desired:integer · Current:integer · Ready:integer · Age · Containers* · Images* · Selector*",
    ),
    (
        "ReplicationController",
        "Name · Desired:integer · Current:integer · Ready:integer · Age · Containers* · Images* · Selector*",
    ),
    ("StatefulSet", "Name · Ready · Age · Containers* · Images*"),
    (
        "DaemonSet",
        "Name · Desired:integer · Current:integer · Ready:integer · Up-to-date:integer · Available:integer · Node Selector · Age · Containers* · Images* · Selector*",
    ),
    ("Job", "Name · Status · Completions · Duration · Age · Containers* · Images* · Selector*"),
    (
        "CronJob",
        "Name · Schedule · Timezone · Suspend:boolean · Active:integer · Last Schedule · Age · Containers* · Images* · Selector*",
    ),
    (
        "Event",
        "Last Seen · Type · Reason · Object · Subobject* · Source* · Message · First Seen* · Count* · Name*",
    ),
    ("Namespace", "Name · Status · Age"),
    ("Lease", "Name · Holder · Age"),
    ("PriorityClass", "Name · Value:integer · Global-Default:boolean · Age · PreemptionPolicy"),
    (
        "PodDisruptionBudget",
        "Name · Min Available · Max Unavailable · Allowed Disruptions:integer · Age",
    ),
    (
        "PersistentVolumeClaim",
        "Name · Status · Volume · Capacity · Access Modes · StorageClass · VolumeAttributesClass · Age · VolumeMode*",
    ),
    (
        "PersistentVolume",
        "Name · Capacity · Access Modes · Reclaim Policy · Status · Claim · StorageClass · VolumeAttributesClass · Reason · Age · VolumeMode*",
    ),
    (
        "StorageClass",
        "Name · Provisioner · ReclaimPolicy · VolumeBindingMode · AllowVolumeExpansion · Age",
    ),
    ("Service", "Name · Type · Cluster-IP · External-IP · Port(s) · Age · Selector*"),
    ("ConfigMap", "Name · Data · Age"),
    ("Secret", "Name · Type · Data · Age"),
    ("ResourceQuota", "Name · Request · Limit · Age"),
    ("LimitRange", "Name · Created At:date"),
    ("CSIStorageCapacity", "Name · Created At:date"),
    ("Role", "Name · Created At:date"),
    ("ClusterRole", "Name · Created At:date"),
    ("RoleBinding", "Name · Role · Age · Users* · Groups* · ServiceAccounts*"),
    ("ClusterRoleBinding", "Name · Role · Age · Users* · Groups* · ServiceAccounts*"),
    ("CSINode", "Name · Drivers:integer · Age"),
    (
        "CSIDriver",
        "Name · AttachRequired:boolean · PodInfoOnMount:boolean · StorageCapacity:boolean · TokenRequests · RequiresRepublish:boolean · Modes · Age",
    ),
    ("VolumeAttachment", "Name · Attacher · PV · Node · Attached:boolean · Age"),
    ("ResourceClaim", "Name · State · Age"),
];
