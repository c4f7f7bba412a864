//! The facts of a pod, a node, a volume that a decision needs, free of any client type.
//!
//! The types are filled straight from the API's JSON: field names are the API's, what no scheduler
//! reads is skipped while decoding, and a missing field is its default. Amounts and selectors are
//! exact: [`Quantity`], [`LabelSelector`], [`NodeSelector`].

mod labels;
mod node_selector;
mod quantity;
mod selector;
mod taint;

pub use labels::{Labels, Text};
pub use node_selector::{
    CompiledNodeSelector, CompiledPreferredTerms, NodeSelector, NodeSelectorRequirement,
    NodeSelectorTerm, PreferredSchedulingTerm, RequiredNodeAffinity,
};
pub use quantity::{Quantity, QuantityError};
pub use selector::{
    LabelSelector, LabelSelectorRequirement, Operator, Requirement, Selector, SelectorError,
};
pub use taint::{
    Effect, Taint, Toleration, TolerationOperator, find_matching_untolerated_taint,
    tolerations_tolerate_taint,
};

/// Reads a field that the API may send as `null` like one that is absent.
pub(crate) fn null_as_default<'de, D, T>(from: D) -> Result<T, D::Error>
where
    D: serde::Deserializer<'de>,
    T: Default + serde::Deserialize<'de>,
{
    Ok(<Option<T> as serde::Deserialize>::deserialize(from)?.unwrap_or_default())
}
