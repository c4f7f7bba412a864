use serde_json::Value;

use crate::error::Place;

/// A value in the tree, and where it stands.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Node {
    pub(crate) kind: Kind,
    /// Absent in JSON, whose values are found by their paths alone.
    pub(crate) place: Option<Place>,
}

/// What a value is.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Kind {
    Null,
    Bool(bool),
    Int(i64),
    /// A number above the range of [`Kind::Int`].
    Uint(u64),
    Float(f64),
    Text(String),
    List(Vec<Node>),
    /// Entries in the order of the text. JSON may repeat a key here; YAML does not.
    Map(Vec<(String, Node)>),
}

impl Node {
    pub(crate) fn new(kind: Kind, place: Option<Place>) -> Self {
        Self { kind, place }
    }

    /// The value of `key` in a map; of several, the last.
    pub(crate) fn get(&self, key: &str) -> Option<&Self> {
        match &self.kind {
            Kind::Map(entries) => {
                entries.iter().rev().find(|(name, _)| name == key).map(|(_, value)| value)
            }
            _ => None,
        }
    }

    /// The element `index` of a list.
    pub(crate) fn element(&self, index: usize) -> Option<&Self> {
        match &self.kind {
            Kind::List(elements) => elements.get(index),
            _ => None,
        }
    }

    /// What the value is, in a person's words.
    pub(crate) fn describe(&self) -> String {
        match &self.kind {
            Kind::Null => "nothing".to_owned(),
            Kind::Bool(it) => format!("the boolean {it}"),
            Kind::Int(it) => format!("the number {it}"),
            Kind::Uint(it) => format!("the number {it}"),
            Kind::Float(it) => format!("the number {it}"),
            Kind::Text(it) if it.chars().count() <= 40 => format!("the text {it:?}"),
            Kind::Text(_) => "a text".to_owned(),
            Kind::List(_) => "a list".to_owned(),
            Kind::Map(_) => "a map".to_owned(),
        }
    }

    /// Every key that a map within repeats, with the path from here.
    pub(crate) fn repeated_keys(&self, path: &str, found: &mut Vec<String>) {
        match &self.kind {
            Kind::Map(entries) => {
                for (index, (key, value)) in entries.iter().enumerate() {
                    let path = loadmaster_framework::field::child(path, key);
                    if entries[..index].iter().any(|(other, _)| other == key) {
                        found.push(path.clone());
                    }
                    value.repeated_keys(&path, found);
                }
            }
            Kind::List(elements) => {
                for (index, value) in elements.iter().enumerate() {
                    value.repeated_keys(&format!("{path}[{index}]"), found);
                }
            }
            _ => {}
        }
    }

    /// The tree as a JSON value. In a map a `null` is left out, since Go does not tell it from an
    /// absent field; of a repeated key the last value counts.
    pub(crate) fn to_value(&self, nulls: Nulls) -> Value {
        match &self.kind {
            Kind::Null => Value::Null,
            Kind::Bool(it) => Value::Bool(*it),
            Kind::Int(it) => Value::from(*it),
            Kind::Uint(it) => Value::from(*it),
            Kind::Float(it) => Value::from(*it),
            Kind::Text(it) => Value::String(it.clone()),
            Kind::List(elements) => elements.iter().map(|it| it.to_value(nulls)).collect(),
            Kind::Map(entries) => {
                let kept = entries
                    .iter()
                    .filter(|(_, value)| nulls == Nulls::Kept || value.kind != Kind::Null);
                Value::Object(kept.map(|(key, it)| (key.clone(), it.to_value(nulls))).collect())
            }
        }
    }
}

/// What becomes of a `null` in a map.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Nulls {
    Kept,
    Dropped,
}
