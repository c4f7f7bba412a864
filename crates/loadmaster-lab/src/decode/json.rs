//! JSON and YAML text to values, remembering members that occur twice.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

use super::DecodeError;

/// A value and the paths of members that occurred more than once in it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Parsed {
    /// The value; of a repeated member the last occurrence.
    pub value: Value,
    /// Paths such as `data.a`.
    pub duplicates: Vec<String>,
}

/// Reads JSON text.
///
/// # Errors
/// [`DecodeError::Syntax`] in Go's words where they are known.
pub fn parse_json(text: &[u8]) -> Result<Parsed, DecodeError> {
    let mut duplicates = Vec::new();
    let mut reader = serde_json::Deserializer::from_slice(text);
    let seed = Seed { path: String::new(), duplicates: &mut duplicates };
    let value = seed.deserialize(&mut reader).and_then(|value| reader.end().map(|()| value));
    match value {
        Ok(value) => Ok(Parsed { value, duplicates }),
        Err(error) if error.is_eof() => {
            Err(DecodeError::Syntax("unexpected end of JSON input".to_owned()))
        }
        Err(error) => Err(DecodeError::Syntax(error.to_string())),
    }
}

/// Reads one YAML document; JSON is YAML too.
///
/// # Errors
/// [`DecodeError::Syntax`].
pub fn parse_yaml(text: &[u8]) -> Result<Parsed, DecodeError> {
    let syntax =
        |error: String| DecodeError::Syntax(format!("error converting YAML to JSON: {error}"));
    let text = std::str::from_utf8(text).map_err(|error| syntax(error.to_string()))?;
    let value = serde_saphyr::from_str(text).map_err(|error| syntax(error.to_string()))?;
    Ok(Parsed { value, duplicates: Vec::new() })
}

struct Seed<'a> {
    path: String,
    duplicates: &'a mut Vec<String>,
}

impl<'de> DeserializeSeed<'de> for Seed<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Seed<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(Number::from_f64(value).map_or(Value::Null, Value::Number))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        loop {
            let path = format!("{}[{}]", self.path, list.len());
            match items.next_element_seed(Seed { path, duplicates: &mut *self.duplicates })? {
                Some(item) => list.push(item),
                None => return Ok(Value::Array(list)),
            }
        }
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Value, A::Error> {
        let mut map = Map::new();
        while let Some(key) = members.next_key::<String>()? {
            let path =
                if self.path.is_empty() { key.clone() } else { format!("{}.{key}", self.path) };
            if map.contains_key(&key) {
                self.duplicates.push(path.clone());
            }
            let value =
                members.next_value_seed(Seed { path, duplicates: &mut *self.duplicates })?;
            map.insert(key, value);
        }
        Ok(Value::Object(map))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn members_that_occur_twice_are_told_with_their_path() {
        let parsed = parse_json(br#"{"data":{"a":"1","a":"2"},"l":[{"x":1,"x":1.5}]}"#).unwrap();
        assert_eq!(parsed.value, json!({"data": {"a": "2"}, "l": [{"x": 1.5}]}));
        assert_eq!(parsed.duplicates, ["data.a", "l[0].x"]);
    }

    #[test]
    fn text_that_stops_early_is_named_in_gos_words() {
        for text in [&b"{\"apiVersion\":"[..], b""] {
            assert_eq!(
                parse_json(text),
                Err(DecodeError::Syntax("unexpected end of JSON input".to_owned()))
            );
        }
        assert!(parse_json(b"{} x").is_err());
    }

    #[test]
    fn yaml_reads_like_json() {
        let parsed = parse_yaml(b"kind: Pod\nspec:\n  n: [1, two]\n").unwrap();
        assert_eq!(parsed.value, json!({"kind": "Pod", "spec": {"n": [1, "two"]}}));
    }
}
