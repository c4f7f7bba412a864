//! What the scheduler is told of the world.

use std::time::Duration;

use loadmaster_framework::{Object, api::Text};

/// A change of the world, as a watch or a feed tells it. Late, doubled and missing events do no
/// lasting harm: objects are known by uid, and the latest telling counts.
#[derive(Clone, Debug)]
pub enum ClusterChange {
    /// The object appeared or changed.
    Applied(Object),
    /// The object is gone; this is how it was last seen.
    Deleted(Object),
    /// A feed brought facts, which come to be known together.
    Facts {
        /// The feed's name.
        feed: Text,
        /// What is new.
        facts: Vec<NewFact>,
    },
    /// Everything that a feed has brought is still true.
    FactsConfirmed {
        /// The feed's name.
        feed: Text,
        /// When, on the scheduler's clock.
        at: Duration,
    },
}

/// One fact that a feed brought.
#[derive(Clone, Debug, PartialEq)]
pub struct NewFact {
    /// What it is about.
    pub key: Text,
    /// The fact; `None` when there is none any more.
    pub value: Option<serde_json::Value>,
    /// When it was true, on the scheduler's clock.
    pub at: Duration,
}
