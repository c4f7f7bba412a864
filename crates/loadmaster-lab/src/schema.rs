//! The shapes of the API's built-in kinds: which members an object has, and of what type.
//!
//! One table, `data/protobuf-fields.json`, serves three readers: the [protobuf](crate::protobuf)
//! decoder (by field number), strategic merge patches (which lists merge, and by which key) and
//! strict field checking (which members exist). It holds the kinds that kubectl and
//! kube-scheduler send as protobuf; for every other kind the readers fall back to metadata alone.

mod openapi;

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde_json::Value;

pub(crate) use openapi::component_schemas;

/// The type of one member, as the wire sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// UTF-8 text.
    Text,
    /// A 32 or 64 bit whole number.
    Number,
    /// A truth value.
    Flag,
    /// Bytes; base64 in JSON.
    Bytes,
    /// Another message of the table, by name.
    Message(String),
}

/// One member of a message.
#[derive(Clone, Debug)]
pub(crate) struct Field {
    /// The member's name in JSON.
    pub(crate) name: String,
    /// The type of the member, of its items, or of a map's values.
    pub(crate) kind: Kind,
    /// Whether the member is a list (a map is a list of entries on the wire).
    pub(crate) repeated: bool,
    /// Whether the member is a map from strings.
    pub(crate) map: bool,
}

/// One message: an object or a part of one.
#[derive(Debug, Default)]
pub(crate) struct Message {
    by_number: BTreeMap<u64, Field>,
    /// As JSON has it: members of inlined messages stand among the message's own.
    by_name: BTreeMap<String, Field>,
}

impl Message {
    /// The member with this number on the wire.
    pub(crate) fn numbered(&self, number: u64) -> Option<&Field> {
        self.by_number.get(&number)
    }

    /// The member with this name in JSON.
    pub(crate) fn named(&self, name: &str) -> Option<&Field> {
        self.by_name.get(name)
    }

    fn is_object(&self) -> bool {
        self.by_name.contains_key("metadata")
    }
}

/// Sub-messages on the wire whose members JSON writes directly into the parent.
const INLINED: [&str; 6] = [
    "volumeSource",
    "persistentVolumeSource",
    "handler",
    "ingressRuleValue",
    "localObjectReference",
    "ephemeralContainerCommon",
];

/// Whether JSON writes the members of `field` directly into its parent.
pub(crate) fn is_inlined(field: &Field) -> bool {
    matches!(field.kind, Kind::Message(_)) && INLINED.contains(&field.name.as_str())
}

static TABLE: LazyLock<BTreeMap<String, Message>> = LazyLock::new(|| {
    let raw: BTreeMap<String, BTreeMap<String, (String, String)>> =
        serde_json::from_str(include_str!("../data/protobuf-fields.json"))
            .expect("the table is part of the crate and a test reads it");
    parse_table(&raw)
});

fn parse_table(
    raw: &BTreeMap<String, BTreeMap<String, (String, String)>>,
) -> BTreeMap<String, Message> {
    let mut table: BTreeMap<String, Message> = BTreeMap::new();
    for (message, fields) in raw {
        let by_number = fields
            .iter()
            .filter_map(|(number, (name, ty))| Some((number.parse().ok()?, field(name, ty))))
            .collect();
        table.insert(message.clone(), Message { by_number, by_name: BTreeMap::new() });
    }
    let flat: Vec<(String, BTreeMap<String, Field>)> =
        table.iter().map(|(name, message)| (name.clone(), flatten(&table, message))).collect();
    for (name, by_name) in flat {
        table.entry(name).or_default().by_name = by_name;
    }
    table
}

fn flatten(table: &BTreeMap<String, Message>, message: &Message) -> BTreeMap<String, Field> {
    let mut flat = BTreeMap::new();
    for field in message.by_number.values() {
        match &field.kind {
            Kind::Message(inner) if is_inlined(field) => {
                if let Some(inner) = table.get(inner) {
                    flat.extend(flatten(table, inner));
                }
            }
            _ => {
                flat.insert(field.name.clone(), field.clone());
            }
        }
    }
    flat
}

fn field(name: &str, ty: &str) -> Field {
    let (repeated, ty) = ty.strip_prefix("repeated ").map_or((false, ty), |ty| (true, ty));
    let value = ty.strip_prefix("map<string,").and_then(|ty| ty.strip_suffix('>'));
    let kind = match value.unwrap_or(ty) {
        "string" => Kind::Text,
        "int32" | "int64" => Kind::Number,
        "bool" => Kind::Flag,
        "bytes" => Kind::Bytes,
        message => Kind::Message(message.to_owned()),
    };
    Field { name: name.to_owned(), kind, repeated, map: value.is_some() }
}

/// The message with this name in the table.
pub(crate) fn message(name: &str) -> Option<&'static Message> {
    TABLE.get(name)
}

/// The table's name for a kind: `apps/v1` `Deployment` is `apps.v1.Deployment`.
pub(crate) fn message_name(api_version: &str, kind: &str) -> Option<String> {
    if kind == "DeleteOptions" {
        return Some("meta.v1.DeleteOptions".to_owned());
    }
    let name = match api_version.split_once('/') {
        None => format!("core.{api_version}.{kind}"),
        Some((group, version)) => {
            let group = group.split('.').next().unwrap_or(group);
            format!("{group}.{version}.{kind}")
        }
    };
    TABLE.contains_key(&name).then_some(name)
}

/// The members of `object` that its kind does not have, as paths such as
/// `spec.containers[0].imagePullPolcy`, for strict field checking.
///
/// The kind is taken from the arguments, since a request body may leave it out. Nothing is reported
/// for kinds that the table does not hold.
pub fn unknown_fields(api_version: &str, kind: &str, object: &Value) -> Vec<String> {
    let mut found = Vec::new();
    if let Some(message) = message_name(api_version, kind).and_then(|name| TABLE.get(&name)) {
        check_message(message, object, "", &mut found);
    }
    found
}

fn check_message(message: &Message, value: &Value, path: &str, found: &mut Vec<String>) {
    let Some(members) = value.as_object() else { return };
    for (name, value) in members {
        let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
        let Some(field) = message.named(name) else {
            if !(message.is_object() && (name == "kind" || name == "apiVersion")) {
                found.push(path);
            }
            continue;
        };
        if let Kind::Message(inner) = &field.kind {
            check_field(field, inner, value, &path, found);
        }
    }
}

fn check_field(field: &Field, inner: &str, value: &Value, path: &str, found: &mut Vec<String>) {
    // These have a JSON form of their own, which says nothing about members.
    if inner.ends_with("FieldsV1") || inner.ends_with("RawExtension") {
        return;
    }
    let Some(inner) = TABLE.get(inner) else { return };
    match value {
        Value::Array(items) if field.repeated && !field.map => {
            for (index, item) in items.iter().enumerate() {
                check_message(inner, item, &format!("{path}[{index}]"), found);
            }
        }
        Value::Object(entries) if field.map => {
            for (key, entry) in entries {
                check_message(inner, entry, &format!("{path}.{key}"), found);
            }
        }
        _ => check_message(inner, value, path, found),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_misspelt_member_is_found_with_its_path() {
        let pod = json!({"kind": "Pod", "apiVersion": "v1", "metadata": {"name": "x", "labels": {"any": "y"}},
            "spec": {"nope": 1, "containers": [{"name": "a", "imagePullPolcy": "Always"}]}});
        assert_eq!(
            unknown_fields("v1", "Pod", &pod),
            ["spec.containers[0].imagePullPolcy", "spec.nope"]
        );
    }

    #[test]
    fn inlined_members_and_embedded_objects_are_known() {
        let set = json!({"spec": {
            "template": {"spec": {"volumes": [{"name": "v", "configMap": {"name": "c"}}],
                "containers": [{"livenessProbe": {"httpGet": {"port": 80}}}]}},
            "volumeClaimTemplates": [{"kind": "PersistentVolumeClaim", "apiVersion": "v1",
                "spec": {"resources": {"requests": {"storage": "1Gi"}}}}]}});
        assert_eq!(unknown_fields("apps/v1", "StatefulSet", &set), Vec::<String>::new());
    }

    #[test]
    fn kinds_outside_the_table_are_not_checked() {
        let object = json!({"anything": 1});
        assert_eq!(
            unknown_fields("resource.k8s.io/v1", "DeviceClass", &object),
            Vec::<String>::new()
        );
    }
}
