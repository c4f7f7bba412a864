//! From which nodes a volume can be reached.

use loadmaster_framework::api::{
    CompiledNodeSelector, CsiNode, Labels, NodeSelector, PersistentVolume,
};

use crate::in_tree::storage::migration::InTree;

/// A volume's node affinity, compiled; none is from everywhere.
#[derive(Clone, Debug)]
pub(super) struct Reach(Option<CompiledNodeSelector>);

impl Reach {
    pub(super) fn of(volume: &PersistentVolume) -> Self {
        let affinity = volume.spec.node_affinity.as_ref();
        Self::new(affinity.and_then(|it| it.required.as_ref()))
    }

    fn new(required: Option<&NodeSelector>) -> Self {
        Self(required.map(NodeSelector::compile))
    }

    /// Whether a node with `labels` reaches the volume.
    ///
    /// # Errors
    /// Upstream's text of why not. Fields of the node are not looked at.
    pub(super) fn check(&self, labels: &Labels) -> Result<(), String> {
        match self.0.as_ref().map(|it| it.matches(labels, "")) {
            None | Some(Ok(true)) => Ok(()),
            Some(Ok(false)) => Err("no matching NodeSelectorTerms".to_owned()),
            Some(Err(error)) => Err(error.to_string()),
        }
    }
}

/// The reach of a bound volume: in the labels of the driver that took over from Kubernetes itself,
/// on nodes that have made the change.
#[derive(Clone, Debug)]
pub(super) struct BoundReach {
    plain: Reach,
    migrated: Option<(InTree, Result<Reach, String>)>,
}

impl BoundReach {
    pub(super) fn of(volume: &PersistentVolume) -> Self {
        let kind = InTree::of_persistent(volume).filter(|it| it.is_migrated());
        let migrated = kind.map(|kind| {
            let affinity = kind.node_affinity(volume);
            let reach = affinity.map(|it| Reach::new(it.as_ref()));
            (kind, reach.map_err(|error| format!("could not translate pv: {error}")))
        });
        Self { plain: Reach::of(volume), migrated }
    }

    /// The reach that counts on the node of `csi_node`.
    ///
    /// # Errors
    /// Upstream's text for a volume that cannot be translated.
    pub(super) fn on(&self, csi_node: Option<&CsiNode>) -> Result<&Reach, String> {
        let annotation = csi_node.and_then(|it| it.metadata.annotations.get(MIGRATED_PLUGINS));
        let has_changed =
            |kind: InTree| annotation.is_some_and(|it| it.split(',').any(|it| it == kind.plugin()));
        match &self.migrated {
            Some((kind, reach)) if has_changed(*kind) => reach.as_ref().map_err(Clone::clone),
            _ => Ok(&self.plain),
        }
    }
}

pub(super) const MIGRATED_PLUGINS: &str = "storage.alpha.kubernetes.io/migrated-plugins";
