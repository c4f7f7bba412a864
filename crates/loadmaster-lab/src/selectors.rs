//! Which objects a request or a controller means: label selectors and field selectors.

mod fields;
mod labels;

pub use fields::FieldSelector;
pub use labels::LabelSelector;

use serde_json::Value;

/// A label selector and a field selector, both of which an object must match.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selector {
    /// What the labels must be.
    pub labels: LabelSelector,
    /// What the fields must be.
    pub fields: FieldSelector,
}

impl Selector {
    /// Whether every object matches.
    pub fn is_everything(&self) -> bool {
        self.labels.is_everything() && self.fields.is_everything()
    }

    /// Whether a stored object matches.
    pub fn matches(&self, object: &Value) -> bool {
        self.labels.matches(object) && self.fields.matches(object)
    }
}
