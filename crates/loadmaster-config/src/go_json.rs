//! Decodes a tree into typed values as Go's strict JSON decoder does.
//!
//! `null` is the zero value wherever it stands, names of fields are case sensitive, and unknown and
//! repeated fields are collected instead of ending the work, so that all of them are reported.
//!
//! Source: `sigs.k8s.io/json`, as the API machinery of 1.36 uses it.

use std::{cell::RefCell, fmt};

use loadmaster_framework::field;
use serde::{
    Deserialize,
    de::{
        DeserializeSeed, Deserializer, Error as _, Expected, IntoDeserializer, MapAccess,
        SeqAccess, Unexpected, Visitor,
        value::{StrDeserializer, StringDeserializer},
    },
    forward_to_deserialize_any,
};

use crate::{
    document::{Kind, Node},
    error::{Problem, did_you_mean},
};

/// Decodes `node`, which stands at `path`.
///
/// # Errors
/// All unknown and repeated fields, and the first value of a wrong type.
pub(crate) fn decode<'n, T: Deserialize<'n>>(
    node: &'n Node,
    path: &str,
) -> Result<T, Vec<Problem>> {
    let faults = RefCell::new(Vec::new());
    let decoded = T::deserialize(De { node, path: path.to_owned(), faults: &faults });
    let mut faults = faults.into_inner();
    match decoded {
        Ok(value) if faults.is_empty() => Ok(value),
        Ok(_) => Err(faults),
        Err(Fault(problem)) => {
            faults.push(problem);
            Err(faults)
        }
    }
}

/// A value that does not fit.
#[derive(Debug)]
struct Fault(Problem);

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl std::error::Error for Fault {}

impl serde::de::Error for Fault {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self(Problem::new("", message.to_string()))
    }

    fn invalid_value(given: Unexpected<'_>, expected: &dyn Expected) -> Self {
        Self::custom(format_args!("{given} is out of range: expected {expected}"))
    }
}

/// A value to decode, where it stands, and where faults go.
struct De<'n, 'f> {
    node: &'n Node,
    path: String,
    faults: &'f RefCell<Vec<Problem>>,
}

impl<'n> De<'n, '_> {
    /// The fault that this value is not what was expected.
    fn expected(&self, what: &str) -> Fault {
        let message = format!("expected {what}, found {}", self.node.describe());
        self.locate(Fault::custom(message))
    }

    /// Adds the path and the place to a fault that has none yet.
    fn locate(&self, Fault(mut problem): Fault) -> Fault {
        if problem.path.is_empty() {
            problem.path.clone_from(&self.path);
            problem.place = self.node.place;
        }
        Fault(problem)
    }

    /// Decodes this value within another; what is wrong with it is told with its place.
    fn seeded<S: DeserializeSeed<'n>>(self, seed: S) -> Result<S::Value, Fault> {
        let here = De { node: self.node, path: self.path.clone(), faults: self.faults };
        seed.deserialize(self).map_err(|it| here.locate(it))
    }

    fn number<V: Visitor<'n>>(self, visitor: V, what: &str) -> Result<V::Value, Fault> {
        let visited = match &self.node.kind {
            Kind::Null => visitor.visit_i64(0),
            Kind::Int(it) => visitor.visit_i64(*it),
            Kind::Uint(it) => visitor.visit_u64(*it),
            Kind::Text(it) if it.parse::<f64>().is_ok() => {
                let Fault(problem) = self.expected(what);
                return Err(Fault(problem.hint("numbers are written without quotes")));
            }
            _ => return Err(self.expected(what)),
        };
        visited.map_err(|it| self.locate(it))
    }

    /// The fields of a struct that are known and come for the first time.
    fn known_fields(
        &self,
        entries: &'n [(String, Node)],
        known: &[&str],
    ) -> Vec<&'n (String, Node)> {
        let mut kept: Vec<&(String, Node)> = Vec::new();
        for entry in entries {
            let (key, value) = entry;
            let fault = if !known.contains(&&**key) {
                let hint = did_you_mean(key, known.iter().copied())
                    .unwrap_or_else(|| format!("known here: {}", known.join(", ")));
                Problem::new(field::child(&self.path, key), "unknown field").hint(hint)
            } else if kept.iter().any(|(other, _)| other == key) {
                Problem::new(field::child(&self.path, key), "this field is given twice")
            } else {
                kept.push(entry);
                continue;
            };
            self.faults.borrow_mut().push(Problem { place: value.place, ..fault });
        }
        kept
    }
}

macro_rules! whole_numbers {
    ($($method:ident $what:literal)*) => {$(
        fn $method<V: Visitor<'n>>(self, visitor: V) -> Result<V::Value, Fault> {
            self.number(visitor, $what)
        }
    )*};
}

impl<'n> Deserializer<'n> for De<'n, '_> {
    type Error = Fault;

    fn deserialize_any<V: Visitor<'n>>(self, visitor: V) -> Result<V::Value, Fault> {
        match &self.node.kind {
            Kind::Null => visitor.visit_unit(),
            Kind::Bool(it) => visitor.visit_bool(*it),
            Kind::Int(it) => visitor.visit_i64(*it),
            Kind::Uint(it) => visitor.visit_u64(*it),
            Kind::Float(it) => visitor.visit_f64(*it),
            Kind::Text(it) => visitor.visit_borrowed_str(it),
            Kind::List(_) => self.deserialize_seq(visitor),
            Kind::Map(_) => self.deserialize_map(visitor),
        }
    }

    whole_numbers! {
        deserialize_i32 "a 32-bit whole number"
        deserialize_i64 "a 64-bit whole number"
    }

    fn deserialize_f32<V: Visitor<'n>>(self, visitor: V) -> Result<V::Value, Fault> {
        match self.node.kind {
            Kind::Float(it) if it.abs() <= f64::from(f32::MAX) => visitor.visit_f64(it),
            Kind::Float(_) => Err(self.expected("a 32-bit floating-point number")),
            _ => self.number(visitor, "a number"),
        }
    }

    fn deserialize_bool<V: Visitor<'n>>(self, visitor: V) -> Result<V::Value, Fault> {
        match self.node.kind {
            Kind::Null => visitor.visit_bool(false),
            Kind::Bool(it) => visitor.visit_bool(it),
            _ => Err(self.expected("true or false")),
        }
    }

    fn deserialize_str<V: Visitor<'n>>(self, visitor: V) -> Result<V::Value, Fault> {
        let visited = match &self.node.kind {
            Kind::Null => visitor.visit_borrowed_str(""),
            Kind::Text(it) => visitor.visit_borrowed_str(it),
            Kind::List(_) | Kind::Map(_) => return Err(self.expected("a text")),
            _ => {
                let Fault(problem) = self.expected("a text");
                return Err(Fault(problem.hint("put it in quotes")));
            }
        };
        visited.map_err(|it| self.locate(it))
    }

    fn deserialize_string<V: Visitor<'n>>(self, visitor: V) -> Result<V::Value, Fault> {
        self.deserialize_str(visitor)
    }

    fn deserialize_option<V: Visitor<'n>>(self, visitor: V) -> Result<V::Value, Fault> {
        match self.node.kind {
            Kind::Null => visitor.visit_none(),
            _ => visitor.visit_some(self),
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'n>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Fault> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_seq<V: Visitor<'n>>(self, visitor: V) -> Result<V::Value, Fault> {
        let elements: &[Node] = match &self.node.kind {
            Kind::Null => &[],
            Kind::List(elements) => elements,
            _ => return Err(self.expected("a list")),
        };
        visitor.visit_seq(Elements { of: self, rest: elements.iter().enumerate() })
    }

    fn deserialize_map<V: Visitor<'n>>(self, visitor: V) -> Result<V::Value, Fault> {
        let entries: Vec<&(String, Node)> = match &self.node.kind {
            Kind::Null => Vec::new(),
            Kind::Map(entries) => entries.iter().collect(),
            _ => return Err(self.expected("a map")),
        };
        visitor.visit_map(Entries { of: self, rest: entries.into_iter(), value: None })
    }

    fn deserialize_struct<V: Visitor<'n>>(
        self,
        _: &'static str,
        known: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Fault> {
        let entries = match &self.node.kind {
            Kind::Null => Vec::new(),
            Kind::Map(entries) => self.known_fields(entries, known),
            _ => return Err(self.expected("a map")),
        };
        visitor.visit_map(Entries { of: self, rest: entries.into_iter(), value: None })
    }

    forward_to_deserialize_any! { <V: Visitor<'n>>
        i8 i16 i128 u8 u16 u32 u64 u128 f64 char bytes byte_buf unit unit_struct tuple tuple_struct
        enum identifier ignored_any
    }
}

struct Elements<'n, 'f> {
    of: De<'n, 'f>,
    rest: std::iter::Enumerate<std::slice::Iter<'n, Node>>,
}

impl<'n> SeqAccess<'n> for Elements<'n, '_> {
    type Error = Fault;

    fn next_element_seed<S: DeserializeSeed<'n>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, Fault> {
        let Some((index, node)) = self.rest.next() else { return Ok(None) };
        let path = field::element(&self.of.path, index);
        De { node, path, faults: self.of.faults }.seeded(seed).map(Some)
    }
}

struct Entries<'n, 'f> {
    of: De<'n, 'f>,
    rest: std::vec::IntoIter<&'n (String, Node)>,
    value: Option<&'n (String, Node)>,
}

impl<'n> MapAccess<'n> for Entries<'n, '_> {
    type Error = Fault;

    fn next_key_seed<S: DeserializeSeed<'n>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, Fault> {
        self.value = self.rest.next();
        let Some((key, _)) = self.value else { return Ok(None) };
        let key: StrDeserializer<'_, Fault> = key.as_str().into_deserializer();
        seed.deserialize(key).map(Some)
    }

    fn next_value_seed<S: DeserializeSeed<'n>>(&mut self, seed: S) -> Result<S::Value, Fault> {
        let Some((key, node)) = self.value.take() else {
            // serde asks for a value after a key; without one there is nothing to read.
            let nothing: StringDeserializer<Fault> = String::new().into_deserializer();
            return seed.deserialize(nothing);
        };
        let path = field::child(&self.of.path, key);
        De { node, path, faults: self.of.faults }.seeded(seed)
    }
}
