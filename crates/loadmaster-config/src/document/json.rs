//! JSON to a tree. Keys may repeat: whether that is a fault depends on whether anyone reads them.

use std::fmt;

use serde::{
    Deserialize, Deserializer,
    de::{Error, MapAccess, SeqAccess, Visitor},
};

use super::{Document, Kind, Node, place};
use crate::error::Problem;

pub(super) fn read(text: &str) -> Result<Document, Problem> {
    let root: Node = serde_json::from_str(text).map_err(|error| {
        Problem::new("", format!("not valid JSON: {error}"))
            .at(place(error.line(), error.column()))
            .hint("a text that begins with { is read as strict JSON; YAML must begin otherwise")
    })?;
    Ok(Document { root, problems: Vec::new() })
}

impl<'de> Deserialize<'de> for Node {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(NodeVisitor).map(|kind| Self::new(kind, None))
    }
}

struct NodeVisitor;

impl<'de> Visitor<'de> for NodeVisitor {
    type Value = Kind;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E: Error>(self) -> Result<Kind, E> {
        Ok(Kind::Null)
    }

    fn visit_bool<E: Error>(self, it: bool) -> Result<Kind, E> {
        Ok(Kind::Bool(it))
    }

    fn visit_i64<E: Error>(self, it: i64) -> Result<Kind, E> {
        Ok(Kind::Int(it))
    }

    fn visit_u64<E: Error>(self, it: u64) -> Result<Kind, E> {
        Ok(i64::try_from(it).map_or(Kind::Uint(it), Kind::Int))
    }

    fn visit_f64<E: Error>(self, it: f64) -> Result<Kind, E> {
        Ok(Kind::Float(it))
    }

    fn visit_str<E: Error>(self, it: &str) -> Result<Kind, E> {
        Ok(Kind::Text(it.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut access: A) -> Result<Kind, A::Error> {
        let mut elements = Vec::new();
        while let Some(element) = access.next_element()? {
            elements.push(element);
        }
        Ok(Kind::List(elements))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Kind, A::Error> {
        let mut entries = Vec::new();
        while let Some(entry) = access.next_entry()? {
            entries.push(entry);
        }
        Ok(Kind::Map(entries))
    }
}
