//! Pods, nodes and other objects in a line each.
//!
//! A builder starts from an object that the API server could have stored: it has a namespace
//! (`default`), a uid of its own and, a pod, one container. Every method sets or adds one fact;
//! `build()` (or `.into()`) ends the line. What no method is for goes through `with`:
//!
//! ```
//! use loadmaster_testing::builders::pod;
//!
//! let pod = pod("a").with(|it| it.spec.host_network = true).build();
//! assert!(pod.spec.host_network);
//! ```
//!
//! Texts that cannot be read (a quantity, a time stamp) panic: a test that is written wrong should
//! stop where it is wrong.

mod node;
mod pod;
mod storage;
mod workload;

#[cfg(test)]
mod tests;

use loadmaster_framework::api::{
    LabelSelector, LabelSelectorRequirement, Labels, NodeSelectorRequirement, NodeSelectorTerm,
    PodAffinityTerm, Quantity, Text,
};

pub use node::{NodeBuilder, node};
pub use pod::{PodBuilder, pod};
pub use storage::{
    ClaimBuilder, CsiNodeBuilder, StorageClassBuilder, VolumeBuilder, csi_node, persistent_volume,
    persistent_volume_claim, storage_class,
};
pub use workload::{
    namespace, pod_disruption_budget, replica_set, replication_controller, service, stateful_set,
};

/// The namespace of every object that is not told another.
pub const NAMESPACE: &str = "default";

/// Reads a quantity.
///
/// # Panics
/// When `text` is not one.
#[expect(clippy::panic, reason = "a test that is written wrong should stop where it is wrong")]
pub fn quantity(text: &str) -> Quantity {
    Quantity::parse(text).unwrap_or_else(|error| panic!("{text:?}: {error}"))
}

/// A selector for pods (or namespaces) that have all these labels.
///
/// ```
/// use loadmaster_testing::builders::selector;
/// use loadmaster_framework::api::Labels;
///
/// let web = selector([("app", "web")]).compile()?;
/// assert!(web.matches(&Labels::from_iter([("app", "web"), ("tier", "front")])));
/// # Ok::<_, loadmaster_framework::api::SelectorError>(())
/// ```
pub fn selector<K: Into<Text>, V: Into<Text>>(
    labels: impl IntoIterator<Item = (K, V)>,
) -> LabelSelector {
    LabelSelector { match_labels: Labels::from_iter(labels), ..LabelSelector::default() }
}

/// A selector of one expression; `operator` is `In`, `NotIn`, `Exists` or `DoesNotExist`.
pub fn expression<V: Into<Text>>(
    key: &str,
    operator: &str,
    values: impl IntoIterator<Item = V>,
) -> LabelSelector {
    let requirement = LabelSelectorRequirement {
        key: key.into(),
        operator: operator.into(),
        values: values.into_iter().map(Into::into).collect(),
    };
    LabelSelector { match_expressions: vec![requirement], ..LabelSelector::default() }
}

/// One requirement on a node's labels; `operator` is one of a label selector's, `Gt` or `Lt`.
pub fn requirement<V: Into<Text>>(
    key: &str,
    operator: &str,
    values: impl IntoIterator<Item = V>,
) -> NodeSelectorRequirement {
    NodeSelectorRequirement {
        key: key.into(),
        operator: operator.into(),
        values: values.into_iter().map(Into::into).collect(),
    }
}

/// Pods that `selector` is about, within one value of the nodes' label `topology_key`: a term of
/// pod affinity or anti-affinity.
pub fn near(topology_key: &str, selector: LabelSelector) -> PodAffinityTerm {
    PodAffinityTerm {
        label_selector: Some(selector),
        topology_key: topology_key.into(),
        ..PodAffinityTerm::default()
    }
}

/// A term that holds where all `requirements` on labels do.
fn node_term(requirements: impl IntoIterator<Item = NodeSelectorRequirement>) -> NodeSelectorTerm {
    NodeSelectorTerm {
        match_expressions: requirements.into_iter().collect(),
        ..NodeSelectorTerm::default()
    }
}

/// The parts that all builders share: `name`-taking constructors live with each builder.
macro_rules! builder {
    ($builder:ident => $object:ident) => {
        impl $builder {
            /// Sets a label.
            pub fn label(
                self,
                key: impl Into<loadmaster_framework::api::Text>,
                value: impl Into<loadmaster_framework::api::Text>,
            ) -> Self {
                self.with(|it| it.metadata.labels = it.metadata.labels.with(key, value))
            }

            /// Sets an annotation.
            pub fn annotation(
                self,
                key: impl Into<loadmaster_framework::api::Text>,
                value: impl Into<loadmaster_framework::api::Text>,
            ) -> Self {
                self.with(|it| it.metadata.annotations = it.metadata.annotations.with(key, value))
            }

            /// Changes whatever no method is for.
            pub fn with(mut self, change: impl FnOnce(&mut $object)) -> Self {
                change(&mut self.0);
                self
            }
        }

        impl From<$builder> for $object {
            fn from(builder: $builder) -> Self {
                builder.build()
            }
        }

        impl From<$builder> for std::sync::Arc<$object> {
            fn from(builder: $builder) -> Self {
                std::sync::Arc::new(builder.build())
            }
        }

        impl From<$builder> for loadmaster_framework::Object {
            fn from(builder: $builder) -> Self {
                builder.build().into()
            }
        }
    };
}
use builder;
