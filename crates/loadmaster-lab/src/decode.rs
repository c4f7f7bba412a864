//! From what a client sent to an object of a known shape.
//!
//! [`parse_json`] and [`parse_yaml`] read text and tell about members that occur twice;
//! [`normalise`] takes out members that the kind does not have and refuses values of the wrong
//! type, with the words of the Go decoder.

mod json;
mod shape;

pub use json::{Parsed, parse_json, parse_yaml};
pub use shape::normalise;

use crate::status::Status;

/// Why a body is no object of its kind.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// The text is not JSON, or not YAML.
    #[error("{0}")]
    Syntax(String),
    /// A value has the wrong JSON type or an impossible value.
    #[error("{kind} in version {version:?} cannot be handled as a {kind}: {fault}")]
    Shape {
        /// The kind that was expected.
        kind: String,
        /// The version that was expected.
        version: String,
        /// What is wrong, in the Go decoder's words.
        fault: String,
    },
}

impl DecodeError {
    /// The answer to the client.
    pub fn into_status(self) -> Status {
        Status::bad_request(self.to_string())
    }
}
