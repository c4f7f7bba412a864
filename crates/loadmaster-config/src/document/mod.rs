//! A configuration file as a tree, before anyone knows what its fields mean.
//!
//! Two notations come in, YAML and JSON, and one tree comes out, with the places of its values in
//! the text. The peculiarities of Go's readers live here: which scalars are numbers, what a merge
//! key does, that of several documents only the first counts.

mod json;
mod libyaml;
mod node;
mod scalar;
mod yaml;

pub(crate) use node::{Kind, Node, Nulls};

use crate::error::{Place, Problem};

/// What a text holds: the tree, and the faults that do not stop it from being read further.
#[derive(Debug)]
pub(crate) struct Document {
    /// The value of the first document; `Null` when there is none.
    pub(crate) root: Node,
    /// Keys that are given twice.
    pub(crate) problems: Vec<Problem>,
}

/// Reads a text: strict JSON when it begins with `{`, else the first document of YAML.
///
/// # Errors
/// The first fault of the notation, with its place.
pub(crate) fn read(text: &str) -> Result<Document, Problem> {
    if text.trim_start().starts_with('{') { json::read(text) } else { yaml::read(text) }
}

/// The place of a character, counted from 1.
fn place(line: usize, column: usize) -> Place {
    let narrow = |it: usize| u32::try_from(it).unwrap_or(u32::MAX);
    Place { line: narrow(line), column: narrow(column) }
}

#[cfg(test)]
mod tests;
