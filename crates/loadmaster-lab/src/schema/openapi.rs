//! The schema as `OpenAPI` components, for `kubectl explain`.
//!
//! They hold names and types and no descriptions. kubectl's apply does not read them, since the
//! paths announce no patch body: it takes merge keys from its own types.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use super::{Field, Kind, Message, is_inlined, message, message_name};

/// The schemas of these kinds of a group version and of everything that they refer to.
///
/// Kinds outside the schema are left out; kubectl says that they are not documented.
pub(crate) fn component_schemas<'a>(
    group: &str,
    version: &str,
    kinds: impl IntoIterator<Item = &'a str>,
) -> Map<String, Value> {
    let api_version =
        if group.is_empty() { version.to_owned() } else { format!("{group}/{version}") };
    let mut schemas = Map::new();
    let mut open: Vec<String> = Vec::new();
    for kind in kinds {
        let Some(name) = message_name(&api_version, kind) else { continue };
        let Some(message) = message(&name) else { continue };
        let mut schema = schema_of(message, &mut open);
        for member in ["apiVersion", "kind"] {
            schema["properties"][member] = json!({"type": "string"});
        }
        schema["x-kubernetes-group-version-kind"] =
            json!([{"group": group, "version": version, "kind": kind}]);
        schemas.insert(component_name(&name), schema);
    }
    let mut seen = BTreeSet::new();
    while let Some(name) = open.pop() {
        let component = component_name(&name);
        if !seen.insert(name.clone()) || schemas.contains_key(&component) {
            continue;
        }
        let schema = match (own_form(&name), message(&name)) {
            (Some(form), _) => form,
            (None, Some(message)) => schema_of(message, &mut open),
            (None, None) => json!({"type": "object"}),
        };
        schemas.insert(component, schema);
    }
    schemas
}

/// The schema of a message; what it refers to is added to `open`.
fn schema_of(message: &Message, open: &mut Vec<String>) -> Value {
    let mut properties = Map::new();
    for field in message.by_name.values().filter(|field| !is_inlined(field)) {
        properties.insert(field.name.clone(), member(field, open));
    }
    json!({"type": "object", "properties": properties})
}

fn member(field: &Field, open: &mut Vec<String>) -> Value {
    let item = match &field.kind {
        Kind::Text => json!({"type": "string"}),
        Kind::Number => json!({"type": "integer"}),
        Kind::Flag => json!({"type": "boolean"}),
        Kind::Bytes => json!({"type": "string", "format": "byte"}),
        Kind::Message(name) => {
            open.push(name.clone());
            json!({"$ref": format!("#/components/schemas/{}", component_name(name))})
        }
    };
    if field.map {
        json!({"type": "object", "additionalProperties": item})
    } else if field.repeated {
        json!({"type": "array", "items": item})
    } else if item.get("$ref").is_some() {
        json!({"allOf": [item]})
    } else {
        item
    }
}

/// Messages whose JSON is not an object of their fields.
fn own_form(name: &str) -> Option<Value> {
    Some(match name {
        "Quantity" => json!({"oneOf": [{"type": "string"}, {"type": "number"}]}),
        "IntOrString" => {
            json!({"format": "int-or-string", "oneOf": [{"type": "integer"}, {"type": "string"}]})
        }
        "meta.v1.Time" | "meta.v1.MicroTime" => json!({"type": "string", "format": "date-time"}),
        "meta.v1.FieldsV1" => json!({"type": "object"}),
        name if name.ends_with(".ExtraValue") => {
            json!({"type": "array", "items": {"type": "string"}})
        }
        _ => return None,
    })
}

/// The name under which upstream's documents have a message.
fn component_name(name: &str) -> String {
    match name {
        "Quantity" => "io.k8s.apimachinery.pkg.api.resource.Quantity".to_owned(),
        "IntOrString" => "io.k8s.apimachinery.pkg.util.intstr.IntOrString".to_owned(),
        name if name.starts_with("meta.") => format!("io.k8s.apimachinery.pkg.apis.{name}"),
        name => format!("io.k8s.api.{name}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_reference_leads_somewhere() {
        let schemas = component_schemas("", "v1", ["Pod", "Node", "Service"]);
        let text = Value::Object(schemas.clone()).to_string();
        let references = text.split("#/components/schemas/").skip(1);
        let names: BTreeSet<&str> = references.filter_map(|rest| rest.split('"').next()).collect();
        assert!(names.len() > 100);
        for name in names {
            assert!(schemas.contains_key(name), "{name} is referred to and not there");
        }
    }

    #[test]
    fn members_have_the_types_that_json_has() {
        let schemas = component_schemas("apps", "v1", ["Deployment"]);
        let deployment = &schemas["io.k8s.api.apps.v1.Deployment"];
        assert_eq!(
            deployment["x-kubernetes-group-version-kind"],
            json!([{"group": "apps", "version": "v1", "kind": "Deployment"}])
        );
        let container = &schemas["io.k8s.api.core.v1.Container"]["properties"];
        assert_eq!(container["args"], json!({"type": "array", "items": {"type": "string"}}));
        let volume = &schemas["io.k8s.api.core.v1.Volume"]["properties"];
        assert!(volume["configMap"]["allOf"].is_array() && volume.get("volumeSource").is_none());
    }

    #[test]
    fn kinds_outside_the_schema_are_left_out() {
        assert!(component_schemas("storage.k8s.io", "v1", ["StorageClass"]).is_empty());
    }
}
