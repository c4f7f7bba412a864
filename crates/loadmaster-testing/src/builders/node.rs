//! Nodes.

use std::sync::Arc;

use loadmaster_framework::api::{ContainerImage, Effect, Node, NodeCondition, Pod, Taint, Text};
use loadmaster_framework::{NodeInfo, PodInfo};

use super::{builder, quantity};

/// Starts a node that is ready, has the label `kubernetes.io/hostname` and offers nothing yet.
///
/// ```
/// use loadmaster_testing::builders::{node, pod};
///
/// let node = node("n1")
///     .capacity([("cpu", "4"), ("memory", "8Gi"), ("pods", "110")])
///     .label("zone", "a")
///     .info([pod("a").request("cpu", "1")]);
/// assert_eq!((node.label("zone"), node.pods().len()), (Some("a"), 1));
/// ```
pub fn node(name: &str) -> NodeBuilder {
    let mut node = Node::default();
    node.metadata.name = name.into();
    node.metadata.uid = name.into();
    node.status.conditions = vec![NodeCondition { r#type: "Ready".into(), status: "True".into() }];
    NodeBuilder(node).label("kubernetes.io/hostname", name)
}

/// A node in the making; see [`node`].
#[derive(Clone, Debug)]
#[must_use = "a builder does nothing until it is built"]
pub struct NodeBuilder(Node);

builder!(NodeBuilder => Node);

impl NodeBuilder {
    /// What the node has, all of it for pods.
    pub fn capacity<'a>(self, amounts: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        self.with(|it| {
            for (resource, amount) in amounts {
                it.status.capacity.insert(resource, quantity(amount));
                it.status.allocatable.insert(resource, quantity(amount));
            }
        })
    }

    /// What of it pods may use, where that is less.
    pub fn allocatable<'a>(self, amounts: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        self.with(|it| {
            for (resource, amount) in amounts {
                it.status.allocatable.insert(resource, quantity(amount));
            }
        })
    }

    /// Keeps pods away that do not tolerate it.
    pub fn taint(self, key: &str, value: &str, effect: Effect) -> Self {
        let taint = Taint { key: key.into(), value: value.into(), effect };
        self.with(|it| it.spec.taints.push(taint))
    }

    /// Cordons the node.
    pub fn unschedulable(self) -> Self {
        self.with(|it| it.spec.unschedulable = true)
    }

    /// An image of so many bytes is on the node.
    pub fn image(self, name: impl Into<Text>, bytes: i64) -> Self {
        let image = ContainerImage { names: vec![name.into()], size_bytes: bytes };
        self.with(|it| it.status.images.push(image))
    }

    /// The node says that it has this feature.
    pub fn declared_feature(self, name: impl Into<Text>) -> Self {
        self.with(|it| it.status.declared_features.push(name.into()))
    }

    /// The node.
    pub fn build(self) -> Node {
        self.0
    }

    /// The node as plugins see it, with `pods` placed on it.
    pub fn info<P: Into<Pod>>(self, pods: impl IntoIterator<Item = P>) -> NodeInfo {
        let mut info = NodeInfo::new(Arc::new(self.build()));
        for pod in pods {
            let mut pod = pod.into();
            pod.spec.node_name = info.name().clone();
            info.add_pod(Arc::new(PodInfo::new(Arc::new(pod))));
        }
        info
    }
}
