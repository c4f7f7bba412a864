//! Fits a value to the known shape of its kind.

use base64::engine::general_purpose::STANDARD;
use base64::{DecodeError as Base64Error, Engine as _};
use serde_json::Value;

use super::DecodeError;
use crate::defaults::quantity_nanos;
use crate::schema::{self, Field, Kind, Message};

const BAD_QUANTITY: &str = "quantities must match the regular expression \
     '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";

/// Where the seconds of a time end: `2006-01-02T15:04:05`.
const SECONDS_END: usize = 19;

/// Takes out of `object` what its kind does not have and answers the paths of it, such as
/// `spec.containers[0].imagePullPolcy`. Of kinds without a known shape only what every
/// object has is looked at.
///
/// # Errors
/// [`DecodeError::Shape`] for a value of the wrong type or a quantity that is none.
pub fn normalise(
    version: &str,
    kind: &str,
    object: &mut Value,
) -> Result<Vec<String>, DecodeError> {
    let mut fitting = Fitting { unknown: Vec::new() };
    let fitted = match schema::message_name(version, kind) {
        Some(name) => fitting.named(&name, object),
        None if object.is_object() => fitting.common(object),
        None => Err(mismatch(object, "", kind)),
    };
    let version = version.rsplit('/').next().unwrap_or(version);
    let shape_error =
        |fault| DecodeError::Shape { kind: kind.to_owned(), version: version.to_owned(), fault };
    fitted.map_err(shape_error)?;
    Ok(fitting.unknown)
}

struct Fitting {
    unknown: Vec<String>,
}

impl Fitting {
    /// An object of a known shape.
    fn named(&mut self, name: &str, object: &mut Value) -> Result<(), String> {
        match schema::message(name) {
            Some(_) if !object.is_object() => Err(mismatch(object, "", short(name))),
            Some(shape) => self.object(name, shape, object, "", true),
            None => Ok(()),
        }
    }

    /// What every object has, of one whose other members are not known.
    fn common(&mut self, object: &mut Value) -> Result<(), String> {
        const METADATA: &str = "meta.v1.ObjectMeta";
        for member in ["spec", "status"] {
            let value = &object[member];
            if !value.is_null() && !value.is_object() {
                return Err(mismatch(value, member, "object"));
            }
        }
        match (schema::message(METADATA), object.get_mut("metadata")) {
            (Some(shape), Some(metadata)) => {
                self.object(METADATA, shape, metadata, "metadata", false)
            }
            _ => Ok(()),
        }
    }

    fn object(
        &mut self,
        name: &str,
        shape: &Message,
        value: &mut Value,
        path: &str,
        is_object: bool,
    ) -> Result<(), String> {
        if value.is_null() {
            return Ok(());
        }
        let Some(map) = value.as_object_mut() else {
            return Err(mismatch(value, path, short(name)));
        };
        let mut unknown = Vec::new();
        for (key, member) in map.iter_mut() {
            let path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
            match shape.named(key) {
                Some(field) => self.field(field, member, &path)?,
                None if (is_object || shape.named("metadata").is_some())
                    && (key == "kind" || key == "apiVersion") => {}
                None => {
                    unknown.push(key.clone());
                    self.unknown.push(path);
                }
            }
        }
        for key in unknown {
            map.remove(&key);
        }
        Ok(())
    }

    fn field(&mut self, field: &Field, value: &mut Value, path: &str) -> Result<(), String> {
        match value {
            Value::Null => Ok(()),
            Value::Object(entries) if field.map => {
                for (key, entry) in entries.iter_mut() {
                    self.one(&field.kind, entry, &format!("{path}.{key}"))?;
                }
                Ok(())
            }
            Value::Array(items) if field.repeated && !field.map => {
                for (index, item) in items.iter_mut().enumerate() {
                    self.one(&field.kind, item, &format!("{path}[{index}]"))?;
                }
                Ok(())
            }
            _ if field.map => {
                Err(mismatch(value, path, &format!("map[string]{}", go_type(&field.kind))))
            }
            _ if field.repeated => {
                Err(mismatch(value, path, &format!("[]{}", go_type(&field.kind))))
            }
            _ => self.one(&field.kind, value, path),
        }
    }

    fn one(&mut self, kind: &Kind, value: &mut Value, path: &str) -> Result<(), String> {
        let fits = match kind {
            Kind::Bytes if value.is_string() => return check_base64(value),
            Kind::Text | Kind::Bytes => value.is_string(),
            Kind::Number => value.is_i64() || value.is_u64(),
            Kind::Flag => value.is_boolean(),
            Kind::Message(name) => return self.message(name, value, path),
        };
        if fits || value.is_null() { Ok(()) } else { Err(mismatch(value, path, &go_type(kind))) }
    }

    fn message(&mut self, name: &str, value: &mut Value, path: &str) -> Result<(), String> {
        match short(name) {
            "Quantity" => match quantity_nanos(value) {
                None if !value.is_null() => Err(BAD_QUANTITY.to_owned()),
                _ => Ok(()),
            },
            "IntOrString" if value.is_string() || value.is_i64() || value.is_null() => Ok(()),
            "Time" | "MicroTime" if value.is_null() => Ok(()),
            "Time" => check_time(value),
            "MicroTime" => check_micro_time(value),
            "IntOrString" => Err(mismatch(value, path, "int32")),
            // These have a JSON form of their own.
            "FieldsV1" | "RawExtension" | "ExtraValue" | "Verbs" => Ok(()),
            _ => match schema::message(name) {
                Some(shape) => self.object(name, shape, value, path, false),
                None => Ok(()),
            },
        }
    }
}

fn check_time(value: &Value) -> Result<(), String> {
    let text = value.as_str().unwrap_or_default();
    if text.parse::<jiff::Timestamp>().is_ok() {
        return Ok(());
    }
    let layout = "2006-01-02T15:04:05Z07:00";
    Err(format!("parsing time {value} as {layout:?}: cannot parse {text:?} as \"2006\""))
}

/// A time with exactly six digits after the point: other clients write three or nine of them, and
/// are refused.
fn check_micro_time(value: &Value) -> Result<(), String> {
    let text = value.as_str().unwrap_or_default();
    let layout = "2006-01-02T15:04:05.000000Z07:00";
    let fault = |rest: &str, part: &str| {
        Err(format!("parsing time {value} as {layout:?}: cannot parse {rest:?} as {part:?}"))
    };
    if text.parse::<jiff::Timestamp>().is_err() {
        return fault(text, "2006");
    }
    let (_, rest) = text.split_at_checked(SECONDS_END).unwrap_or_default();
    let digits =
        rest.strip_prefix('.').map_or(0, |it| it.bytes().take_while(u8::is_ascii_digit).count());
    match digits {
        6 => Ok(()),
        0..6 => fault(rest, ".000000"),
        _ => fault(&rest[7..], "Z07:00"),
    }
}

fn check_base64(value: &Value) -> Result<(), String> {
    let text = value.as_str().unwrap_or_default().replace(['\r', '\n'], "");
    STANDARD.decode(&text).map(drop).map_err(|error| {
        let at = match error {
            Base64Error::InvalidByte(at, _)
            | Base64Error::InvalidLastSymbol(at, _)
            | Base64Error::InvalidLength(at) => at,
            Base64Error::InvalidPadding => text.len(),
        };
        format!("illegal base64 data at input byte {at}")
    })
}

fn mismatch(value: &Value, path: &str, wanted: &str) -> String {
    let found = match value {
        Value::Null => "null",
        Value::Bool(_) => "bool",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    };
    format!("json: cannot unmarshal {found} into Go struct field {path} of type {wanted}")
}

fn go_type(kind: &Kind) -> String {
    match kind {
        Kind::Text => "string".to_owned(),
        Kind::Bytes => "[]uint8".to_owned(),
        Kind::Number => "int32".to_owned(),
        Kind::Flag => "bool".to_owned(),
        Kind::Message(name) => {
            let version = name.rsplit('.').nth(1).unwrap_or("v1");
            format!("{version}.{}", short(name))
        }
    }
}

fn short(name: &str) -> &str {
    name.rsplit('.').next().unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn fit(mut object: Value) -> (Result<Vec<String>, String>, Value) {
        let told = normalise("v1", "Pod", &mut object);
        (told.map_err(|it| it.to_string()), object)
    }

    #[test]
    fn unknown_members_are_taken_out_and_told() {
        let (told, left) = fit(json!({"kind": "Pod", "apiVersion": "v1", "spec": {
            "nope": 1, "containers": [{"name": "c", "imagePullPolcy": "x"}]}}));
        assert_eq!(told.unwrap(), ["spec.containers[0].imagePullPolcy", "spec.nope"]);
        assert_eq!(left["spec"], json!({"containers": [{"name": "c"}]}));
    }

    #[test]
    fn wrong_types_are_refused_with_the_path() {
        let refused = |object| fit(object).0.unwrap_err();
        assert_eq!(
            refused(json!({"spec": {"containers": "no"}})),
            "Pod in version \"v1\" cannot be handled as a Pod: json: cannot unmarshal string into \
             Go struct field spec.containers of type []v1.Container"
        );
        for wrong in [
            json!({"metadata": 1}),
            json!({"metadata": {"labels": ["a"]}}),
            json!({"metadata": {"labels": {"a": 1}}}),
            json!({"spec": {"priority": "high"}}),
            json!({"spec": {"hostNetwork": "yes"}}),
            json!({"spec": {"containers": [{"resources": {"limits": {"cpu": "abc"}}}]}}),
            json!({"status": {"startTime": "soon"}}),
            json!(["a list"]),
        ] {
            refused(wrong);
        }
    }

    #[test]
    fn times_and_bytes_have_the_forms_of_the_original() {
        let lease = |time: &str| {
            let mut lease = json!({"spec": {"renewTime": time}});
            let told = normalise("coordination.k8s.io/v1", "Lease", &mut lease);
            told.map_err(|it| it.to_string().split_off("Lease in version ".len()))
        };
        for good in ["2026-01-01T00:00:00.123456Z", "2026-01-01T02:00:00.123456+02:00"] {
            assert_eq!(lease(good), Ok(Vec::new()), "{good}");
        }
        // What kube-apiserver 1.36.2 answered.
        for (bad, rest) in [
            ("2026-01-01T00:00:00Z", "\"Z\" as \".000000\""),
            ("2026-01-01T00:00:00.123Z", "\".123Z\" as \".000000\""),
            ("2026-01-01T00:00:00.123456789Z", "\"789Z\" as \"Z07:00\""),
        ] {
            assert_eq!(
                lease(bad),
                Err(format!(
                    "\"v1\" cannot be handled as a Lease: parsing time {bad:?} as \
                     \"2006-01-02T15:04:05.000000Z07:00\": cannot parse {rest}"
                ))
            );
        }
        let secret = |data: &str| {
            let mut secret = json!({"data": {"k": data}});
            normalise("v1", "Secret", &mut secret).map_err(|it| it.to_string())
        };
        assert_eq!(secret("AA=="), Ok(Vec::new()));
        let illegal = |at| {
            Err(format!(
                "Secret in version \"v1\" cannot be handled as a Secret: illegal base64 data at \
                 input byte {at}"
            ))
        };
        assert_eq!((secret("%%"), secret("AA=")), (illegal(0), illegal(3)));
    }

    #[test]
    fn forms_that_several_json_types_have_are_let_pass() {
        let (told, _) =
            fit(json!({"metadata": {"creationTimestamp": null}, "spec": {"containers": [{
            "resources": {"limits": {"cpu": 1, "memory": "1Gi"}},
            "livenessProbe": {"httpGet": {"port": "http"}}}]}}));
        assert_eq!(told, Ok(vec![]));
    }
}
