//! Which lists merge item by item in a strategic merge patch, and by which key.
//!
//! The table is that of the Go types' `patchStrategy` and `patchMergeKey` tags in 1.36; a list that
//! is not in it is replaced whole.

use crate::schema::{self, Kind};

/// Where a strategic merge patch stands in the tree of types.
#[derive(Clone, Debug)]
pub(super) enum Shape {
    /// A message of the schema.
    Known(String),
    /// A kind outside the schema, as the path from its root: `CSINode.spec`.
    Path(String),
    /// A map, or a part of an object about which nothing is known.
    Free,
}

/// How a member merges.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rule {
    /// Maps merge key by key, lists and plain values are replaced.
    Default,
    /// A list of objects that merges by this key.
    Key(&'static str),
    /// A list of plain values that merges as a set.
    Set,
    /// Replaced whole, even where it is a map.
    Replace,
}

impl Shape {
    /// The shape of a kind's root.
    pub(super) fn of(api_version: &str, kind: &str) -> Self {
        match schema::message_name(api_version, kind) {
            Some(name) => Self::Known(name),
            None => Self::Path(kind.to_owned()),
        }
    }

    /// The shape of a member, or of its items where it is a list.
    pub(super) fn member(&self, name: &str) -> Self {
        match self {
            Self::Known(message) => {
                let field = schema::message(message).and_then(|message| message.named(name));
                match field {
                    Some(field) if !field.map => match &field.kind {
                        Kind::Message(inner) => Self::Known(inner.clone()),
                        _ => Self::Free,
                    },
                    _ => Self::Free,
                }
            }
            Self::Path(path) if name == "metadata" && !path.contains('.') => {
                Self::Known("meta.v1.ObjectMeta".to_owned())
            }
            Self::Path(path) => Self::Path(format!("{path}.{name}")),
            Self::Free => Self::Free,
        }
    }

    /// How the member `name` merges.
    pub(super) fn rule(&self, name: &str) -> Rule {
        let owner = match self {
            Self::Known(message) => message.as_str(),
            Self::Path(path) => path.as_str(),
            Self::Free => return Rule::Default,
        };
        match (owner, name) {
            ("policy.v1.PodDisruptionBudgetSpec", "selector") => return Rule::Replace,
            ("meta.v1.ObjectMeta", "finalizers") | ("core.v1.NodeSpec", "podCIDRs") => {
                return Rule::Set;
            }
            (message, "conditions") if message.ends_with("Status") => return Rule::Key("type"),
            _ => {}
        }
        let found = KEYS.iter().find(|(message, field, _)| (*message, *field) == (owner, name));
        found.map_or(Rule::Default, |(_, _, key)| Rule::Key(key))
    }
}

const KEYS: [(&str, &str, &str); 29] = [
    ("meta.v1.ObjectMeta", "ownerReferences", "uid"),
    ("core.v1.PodSpec", "volumes", "name"),
    ("core.v1.PodSpec", "initContainers", "name"),
    ("core.v1.PodSpec", "containers", "name"),
    ("core.v1.PodSpec", "ephemeralContainers", "name"),
    ("core.v1.PodSpec", "imagePullSecrets", "name"),
    ("core.v1.PodSpec", "hostAliases", "ip"),
    ("core.v1.PodSpec", "topologySpreadConstraints", "topologyKey"),
    ("core.v1.PodSpec", "schedulingGates", "name"),
    ("core.v1.PodSpec", "resourceClaims", "name"),
    ("core.v1.Container", "ports", "containerPort"),
    ("core.v1.Container", "env", "name"),
    ("core.v1.Container", "volumeMounts", "mountPath"),
    ("core.v1.Container", "volumeDevices", "devicePath"),
    ("core.v1.EphemeralContainer", "ports", "containerPort"),
    ("core.v1.EphemeralContainer", "env", "name"),
    ("core.v1.EphemeralContainer", "volumeMounts", "mountPath"),
    ("core.v1.EphemeralContainer", "volumeDevices", "devicePath"),
    ("core.v1.ContainerStatus", "volumeMounts", "mountPath"),
    ("core.v1.ContainerStatus", "allocatedResourcesStatus", "name"),
    ("core.v1.PodStatus", "hostIPs", "ip"),
    ("core.v1.PodStatus", "podIPs", "ip"),
    ("core.v1.PodStatus", "resourceClaimStatuses", "name"),
    ("core.v1.ServiceSpec", "ports", "port"),
    ("core.v1.ServiceAccount", "secrets", "name"),
    ("core.v1.NodeStatus", "addresses", "type"),
    ("CSINode.spec", "drivers", "name"),
    ("ResourceClaim.status", "reservedFor", "uid"),
    ("ResourceClaim.status", "conditions", "type"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_names_a_member_that_the_schema_has() {
        for (message, field, key) in KEYS {
            let Some(owner) = schema::message(message) else {
                assert!(message.starts_with(char::is_uppercase), "{message} is no path");
                continue;
            };
            let Some(Kind::Message(item)) = owner.named(field).map(|it| it.kind.clone()) else {
                panic!("{message}.{field} is no list of objects");
            };
            let item = schema::message(&item).unwrap();
            assert!(item.named(key).is_some(), "{message}.{field} has no key {key}");
        }
    }

    #[test]
    fn ports_merge_by_container_port_in_containers_and_by_port_in_services() {
        let container = Shape::of("v1", "Pod").member("spec").member("containers");
        assert_eq!(container.rule("ports"), Rule::Key("containerPort"));
        assert_eq!(Shape::of("v1", "Service").member("spec").rule("ports"), Rule::Key("port"));
    }
}
