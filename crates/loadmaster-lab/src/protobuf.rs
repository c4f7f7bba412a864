//! Decodes protobuf request bodies to JSON.
//!
//! kubectl sends every `kubectl create KIND …` and every access review as
//! `application/vnd.kubernetes.protobuf` and does not retry in JSON; kube-scheduler does the same
//! for bindings, leases and events. Answers stay JSON, so decoding is all that is needed.
//!
//! A body is the four bytes `k8s\0` and a `runtime.Unknown` message that names the kind and holds
//! the object's own message. The [`schema`] table drives the rest.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use jiff::Timestamp;
use serde_json::{Map, Value};
use thiserror::Error;

use crate::schema::{self, Field, Kind};

mod wire;

use wire::{Reader, WireValue};

/// The first four bytes of a protobuf body.
const MAGIC: &[u8; 4] = b"k8s\0";

/// Objects nest about fifteen deep; beyond this a body is hostile.
const DEPTH_MAX: usize = 64;

/// Why a protobuf body could not be read.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ProtobufError {
    /// The body does not start with `k8s\0`.
    #[error("the body does not begin with the Kubernetes protobuf prefix")]
    NoPrefix,
    /// The body ends inside a value, or a length points past its end.
    #[error("the protobuf message is cut short")]
    CutShort,
    /// A number has more than ten bytes.
    #[error("a protobuf number is too long")]
    LongNumber,
    /// A value has a wire type that its field cannot have.
    #[error("field {field:?} has wire type {wire_type}, which it cannot have")]
    WireType {
        /// The member's name in JSON.
        field: String,
        /// The wire type found.
        wire_type: u8,
    },
    /// Text is not UTF-8.
    #[error("field {0:?} is not valid UTF-8")]
    NotUtf8(String),
    /// A time stamp lies outside the years that RFC 3339 can write.
    #[error("field {0:?} is not a valid time")]
    BadTime(String),
    /// A field of raw JSON does not hold JSON.
    #[error("field {0:?} does not hold JSON")]
    BadJson(String),
    /// Messages nest too deeply.
    #[error("the protobuf message nests too deeply")]
    TooDeep,
    /// The kind is not one whose field numbers are known.
    #[error("no protobuf definition is known for {api_version}, Kind={kind}")]
    UnknownKind {
        /// The body's `apiVersion`.
        api_version: String,
        /// The body's `kind`.
        kind: String,
    },
}

/// Reads a protobuf body as the JSON object that it stands for, with `apiVersion` and `kind`.
///
/// Zero values that Go writes for plain fields (empty strings, `generation: 0`, `stdin: false`) are
/// left out, as they are in JSON, so that defaults apply to them.
///
/// # Errors
/// When the body is malformed or of a kind without known field numbers; never panics.
pub fn decode(body: &[u8]) -> Result<Value, ProtobufError> {
    let message = body.strip_prefix(MAGIC).ok_or(ProtobufError::NoPrefix)?;
    let unknown = schema::message("runtime.Unknown").expect("the table holds runtime.Unknown");
    let (mut api_version, mut kind, mut raw): (String, String, &[u8]) =
        (String::new(), String::new(), &[]);
    let mut reader = Reader::new(message);
    while let Some((number, value)) = reader.next()? {
        match (unknown.numbered(number).map(|it| it.name.as_str()), value) {
            (Some("typeMeta"), WireValue::Bytes(bytes)) => {
                let meta = decode_message("runtime.TypeMeta", bytes, 0)?;
                let text =
                    |key| meta.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
                (api_version, kind) = (text("apiVersion"), text("kind"));
            }
            (Some("raw"), WireValue::Bytes(bytes)) => raw = bytes,
            _ => {}
        }
    }
    let Some(name) = schema::message_name(&api_version, &kind) else {
        return Err(ProtobufError::UnknownKind { api_version, kind });
    };
    let mut object = decode_message(&name, raw, 0)?;
    object.insert("apiVersion".to_owned(), Value::String(api_version));
    object.insert("kind".to_owned(), Value::String(kind));
    Ok(Value::Object(object))
}

fn decode_message(
    name: &str,
    bytes: &[u8],
    depth: usize,
) -> Result<Map<String, Value>, ProtobufError> {
    if depth > DEPTH_MAX {
        return Err(ProtobufError::TooDeep);
    }
    let mut object = Map::new();
    let Some(message) = schema::message(name) else { return Ok(object) };
    let mut reader = Reader::new(bytes);
    while let Some((number, value)) = reader.next()? {
        // A field that this table does not know comes from a newer client: skipped, as upstream does.
        if let Some(field) = message.numbered(number) {
            put(&mut object, name, field, &value, depth)?;
        }
    }
    Ok(object)
}

/// Stores one field of a message, appending where the field is a list or a map.
fn put(
    object: &mut Map<String, Value>,
    parent: &str,
    field: &Field,
    value: &WireValue<'_>,
    depth: usize,
) -> Result<(), ProtobufError> {
    if field.map {
        let (key, item) = map_entry(field, value, depth)?;
        if let Some(map) = object
            .entry(field.name.clone())
            .or_insert_with(|| Value::Object(Map::new()))
            .as_object_mut()
        {
            map.insert(key, item);
        }
        return Ok(());
    }
    if field.repeated {
        let mut items = match (&field.kind, value) {
            (Kind::Number, WireValue::Bytes(packed)) => wire::packed_numbers(packed)?,
            _ => vec![scalar(field, value, depth)?],
        };
        if let Some(list) = object
            .entry(field.name.clone())
            .or_insert_with(|| Value::Array(Vec::new()))
            .as_array_mut()
        {
            list.append(&mut items);
        }
        return Ok(());
    }
    let item = scalar(field, value, depth)?;
    if schema::is_inlined(field) {
        if let Value::Object(inner) = item {
            object.extend(inner);
        }
    } else if !stands_for_absent(parent, field, &item) {
        object.insert(field.name.clone(), item);
    }
    Ok(())
}

fn map_entry(
    field: &Field,
    value: &WireValue<'_>,
    depth: usize,
) -> Result<(String, Value), ProtobufError> {
    let WireValue::Bytes(bytes) = value else { return Err(value.unfit(field)) };
    let mut reader = Reader::new(bytes);
    let mut key = String::new();
    let mut item = match &field.kind {
        Kind::Text | Kind::Bytes => Value::String(String::new()),
        Kind::Message(name) if name == "Quantity" => Value::from("0"),
        _ => Value::Null,
    };
    while let Some((number, value)) = reader.next()? {
        match (number, &value) {
            (1, WireValue::Bytes(bytes)) => key = text(field, bytes)?,
            (2, value) => item = scalar(field, value, depth)?,
            _ => {}
        }
    }
    Ok((key, item))
}

/// One value of a field, leaving aside whether the field repeats.
fn scalar(field: &Field, value: &WireValue<'_>, depth: usize) -> Result<Value, ProtobufError> {
    match (&field.kind, value) {
        (Kind::Text, WireValue::Bytes(bytes)) => Ok(Value::String(text(field, bytes)?)),
        (Kind::Number, WireValue::Number(number)) => Ok(Value::from(number.cast_signed())),
        (Kind::Flag, WireValue::Number(number)) => Ok(Value::Bool(*number != 0)),
        (Kind::Bytes, WireValue::Bytes(bytes)) => Ok(Value::String(STANDARD.encode(bytes))),
        (Kind::Message(name), WireValue::Bytes(bytes)) => embedded(field, name, bytes, depth),
        _ => Err(value.unfit(field)),
    }
}

/// A message inside a message, in its JSON form.
fn embedded(field: &Field, name: &str, bytes: &[u8], depth: usize) -> Result<Value, ProtobufError> {
    match name {
        "meta.v1.Time" => time(field, bytes, 0),
        "meta.v1.MicroTime" => time(field, bytes, 6),
        "meta.v1.FieldsV1" | "runtime.RawExtension" => raw_json(field, bytes),
        "Quantity" | "IntOrString" => {
            let object = decode_message(name, bytes, depth + 1)?;
            Ok(match (name, object.get("type").and_then(Value::as_i64)) {
                ("Quantity", _) => object.get("string").cloned().unwrap_or_else(|| "0".into()),
                (_, Some(1)) => object.get("strVal").cloned().unwrap_or_else(|| "".into()),
                _ => object.get("intVal").cloned().unwrap_or_else(|| 0.into()),
            })
        }
        "authentication.v1.ExtraValue" | "authorization.v1.ExtraValue" => {
            let object = decode_message(name, bytes, depth + 1)?;
            Ok(object.get("items").cloned().unwrap_or_else(|| Value::Array(Vec::new())))
        }
        _ => Ok(Value::Object(decode_message(name, bytes, depth + 1)?)),
    }
}

/// Seconds and nanoseconds since the epoch as RFC 3339; an empty message is null.
fn time(field: &Field, bytes: &[u8], decimals: usize) -> Result<Value, ProtobufError> {
    if bytes.is_empty() {
        return Ok(Value::Null);
    }
    let (mut seconds, mut nanos) = (0_i64, 0_i64);
    let mut reader = Reader::new(bytes);
    while let Some((number, value)) = reader.next()? {
        match (number, value) {
            (1, WireValue::Number(number)) => seconds = number.cast_signed(),
            (2, WireValue::Number(number)) => nanos = number.cast_signed(),
            _ => {}
        }
    }
    let bad = || ProtobufError::BadTime(field.name.clone());
    let nanos = i32::try_from(nanos).map_err(|_| bad())?;
    let stamp = Timestamp::new(seconds, nanos).map_err(|_| bad())?;
    Ok(Value::String(format!("{stamp:.decimals$}")))
}

fn raw_json(field: &Field, bytes: &[u8]) -> Result<Value, ProtobufError> {
    let mut reader = Reader::new(bytes);
    while let Some((number, value)) = reader.next()? {
        if let (1, WireValue::Bytes(json)) = (number, value) {
            return serde_json::from_slice(json)
                .map_err(|_| ProtobufError::BadJson(field.name.clone()));
        }
    }
    Ok(Value::Null)
}

fn text(field: &Field, bytes: &[u8]) -> Result<String, ProtobufError> {
    match std::str::from_utf8(bytes) {
        Ok(text) => Ok(text.to_owned()),
        Err(_) => Err(ProtobufError::NotUtf8(field.name.clone())),
    }
}

/// Whether Go's JSON would leave this value out: it is the zero value of a field that is no pointer.
fn stands_for_absent(parent: &str, field: &Field, value: &Value) -> bool {
    match value {
        Value::Null => true,
        // A class of "" means "no class"; a host path's type of "" means "no check".
        Value::String(text) => {
            text.is_empty()
                && !(field.name == "storageClassName" && parent.ends_with("ClaimSpec"))
                && parent != "core.v1.HostPathVolumeSource"
        }
        Value::Bool(false) => PLAIN_FLAGS.contains(&field.name.as_str()),
        Value::Number(number) => {
            number.as_i64() == Some(0)
                && (PLAIN_NUMBERS.contains(&field.name.as_str())
                    || matches!(parent, "apps.v1.DeploymentStatus" | "batch.v1.JobStatus"))
        }
        _ => false,
    }
}

/// Flags that are plain in Go and left out of JSON when false.
const PLAIN_FLAGS: [&str; 12] = [
    "stdin",
    "stdinOnce",
    "tty",
    "hostNetwork",
    "hostPID",
    "hostIPC",
    "readOnly",
    "paused",
    "publishNotReadyAddresses",
    "globalDefault",
    "denied",
    "unschedulable",
];

/// Numbers that are plain in Go and left out of JSON when zero.
const PLAIN_NUMBERS: [&str; 9] = [
    "generation",
    "observedGeneration",
    "minReadySeconds",
    "nodePort",
    "healthCheckNodePort",
    "hostPort",
    "count",
    "deprecatedCount",
    "initialDelaySeconds",
];

#[cfg(test)]
mod tests;
