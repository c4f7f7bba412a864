//! What the server alone decides about an object: name, uid, time and generation.

use jiff::Timestamp;
use serde_json::{Value, json};
use uuid::Uuid;

use super::clock::rfc3339;
use crate::resources::Resource;

/// The letters of generated names: no vowels, nothing that reads like another letter.
const ALPHABET: &[u8] = b"bcdfghjklmnpqrstvwxz2456789";

/// How many letters follow the prefix.
const SUFFIX: usize = 5;

/// A prefix longer than this is cut, so that the name stays a label value.
const MAX_PREFIX: usize = 58;

/// The prefix (cut to 58 characters) and five random letters, as `generateName` makes names.
pub fn generate_name(prefix: &str) -> String {
    let mut name: String = prefix.chars().take(MAX_PREFIX).collect();
    // The low 62 bits of a version 4 UUID are all random; five letters need 24 of them.
    let mut bits = Uuid::new_v4().as_u128() & ((1 << 62) - 1);
    for _ in 0..SUFFIX {
        let letters = ALPHABET.len() as u128;
        let index = usize::try_from(bits % letters).unwrap_or_default();
        name.push(char::from(ALPHABET[index]));
        bits /= letters;
    }
    name
}

/// Gives a new object its identity: a name from `generateName`, `uid`, `creationTimestamp`,
/// `generation` for kinds that count it, `kind` and `apiVersion`; what the client put there, and
/// fields that a new object cannot have, are dropped without an error.
pub fn prepare_create(resource: &Resource, object: &mut Value, now: Timestamp) {
    if !object.is_object() {
        *object = json!({});
    }
    object["kind"] = json!(resource.kind);
    object["apiVersion"] = json!(resource.api_version());
    if !object["metadata"].is_object() {
        object["metadata"] = json!({});
    }
    let metadata = &mut object["metadata"];
    let named = metadata["name"].as_str().is_some_and(|it| !it.is_empty());
    let prefix = metadata["generateName"].as_str().filter(|it| !it.is_empty());
    if let (false, Some(prefix)) = (named, prefix) {
        metadata["name"] = json!(generate_name(prefix));
    }
    metadata["uid"] = json!(Uuid::new_v4().to_string());
    metadata["creationTimestamp"] = json!(rfc3339(now));
    if let Some(map) = metadata.as_object_mut() {
        let unset = [
            "resourceVersion",
            "generation",
            "deletionTimestamp",
            "deletionGracePeriodSeconds",
            "selfLink",
            "managedFields",
        ];
        for field in unset {
            map.remove(field);
        }
        if !resource.namespaced {
            map.remove("namespace");
        }
    }
    if resource.counts_generation {
        object["metadata"]["generation"] = json!(1);
    }
}
