//! What must be done in the world: said by plugins and the core, done by the process.

use serde_json::Value;

use crate::api::{ObjectKey, Text};

/// How a patch is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PatchKind {
    /// `application/strategic-merge-patch+json`.
    Strategic,
    /// `application/merge-patch+json`.
    Merge,
}

/// Something for the process to do in the world; it reports back what came of it.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Action {
    /// `POST pods/{pod}/binding`.
    Bind {
        /// Which pod.
        pod: ObjectKey,
        /// Its identity: the server refuses if a successor has taken the name.
        uid: Text,
        /// The target node.
        node: Text,
    },
    /// `PATCH` of an object or of one of its subresources.
    Patch {
        /// Group and version, `v1` or `storage.k8s.io/v1`.
        api_version: Text,
        /// Plural name.
        resource: Text,
        /// Which object.
        key: ObjectKey,
        /// `status`, or empty for the object itself.
        subresource: Text,
        /// How the patch is meant.
        kind: PatchKind,
        /// The patch; a `metadata.uid` in it guards against successors.
        patch: Value,
    },
    /// `DELETE` of an object.
    Delete {
        /// Group and version.
        api_version: Text,
        /// Plural name.
        resource: Text,
        /// Which object.
        key: ObjectKey,
        /// Its identity, as a precondition.
        uid: Text,
    },
    /// A future of the plugin's own, run by the process under this name.
    Custom {
        /// The name under which the process knows it.
        name: Text,
        /// What it is given.
        input: Value,
    },
}

/// Why an action came to nothing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ActionError {
    /// The object is gone (404).
    #[error("{0}")]
    NotFound(String),
    /// The object is not as it was thought to be (409).
    #[error("{0}")]
    Conflict(String),
    /// The server refused for another reason.
    #[error("{0}")]
    Refused(String),
    /// It is not known whether the server did it: a timeout, a reset.
    #[error("{0}")]
    Unknown(String),
}

/// What came of an action: the object as the server answered it, where it did.
pub type ActionResult = Result<Value, ActionError>;
