//! Whether a volume can be made for a claim where a node reaches it.

use std::sync::Arc;

use loadmaster_framework::{
    Listers,
    api::{
        CsiStorageCapacity, LabelSelector, LabelSelectorRequirement, Labels, PersistentVolumeClaim,
        Quantity, Selector, StorageClass, TopologySelectorTerm,
    },
};

use crate::in_tree::storage::claim_class;

/// How a volume would be made for a claim.
#[derive(Debug)]
pub(super) struct Provisioning {
    pub(super) claim: Arc<PersistentVolumeClaim>,
    /// Nothing where none is made; upstream's text where the class is wrong.
    how: Result<Option<How>, String>,
}

#[derive(Debug)]
struct How {
    /// Nodes that the class allows; nothing is all.
    allowed: Option<Vec<Selector>>,
    /// Nodes with enough room for the claim; nothing is all.
    room: Option<Vec<Selector>>,
}

/// Whether a volume can be made for a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// It can.
    Possible,
    /// Not for this node, or for none.
    Impossible,
    /// There is no room for it.
    NoRoom,
}

impl Provisioning {
    pub(super) fn of(claim: &Arc<PersistentVolumeClaim>, listers: &Listers) -> Self {
        Self { claim: Arc::clone(claim), how: how(claim, listers) }
    }

    /// Whether a volume can be made that a node with `labels` reaches.
    ///
    /// # Errors
    /// Upstream's text where the claim's class is wrong.
    pub(super) fn check(&self, labels: &Labels) -> Result<Verdict, String> {
        let Some(how) = self.how.as_ref().map_err(Clone::clone)? else {
            return Ok(Verdict::Impossible);
        };
        let within = |nodes: &Option<Vec<Selector>>| {
            nodes.as_ref().is_none_or(|it| it.iter().any(|it| it.matches(labels)))
        };
        Ok(match (within(&how.allowed), within(&how.room)) {
            (false, _) => Verdict::Impossible,
            (true, false) => Verdict::NoRoom,
            (true, true) => Verdict::Possible,
        })
    }
}

fn how(claim: &PersistentVolumeClaim, listers: &Listers) -> Result<Option<How>, String> {
    let name = claim_class(claim);
    if name.is_empty() {
        let key = claim.metadata.key().to_string();
        return Err(format!("no class for claim {key:?}"));
    }
    let class = listers.storage_classes.get("", name);
    let class = class.ok_or_else(|| format!("failed to find storage class {name:?}"))?;
    if class.provisioner.is_empty() || &*class.provisioner == NO_PROVISIONER {
        return Ok(None);
    }
    let terms = &class.allowed_topologies;
    let allowed = (!terms.is_empty()).then(|| terms.iter().filter_map(term_selector).collect());
    Ok(Some(How { allowed, room: room(claim, class, listers) }))
}

/// Nodes with one of the values for each label; a term without labels, or with ones that cannot
/// be, is about no node.
fn term_selector(term: &TopologySelectorTerm) -> Option<Selector> {
    if term.match_label_expressions.is_empty() {
        return None;
    }
    let expressions = term.match_label_expressions.iter().map(|it| LabelSelectorRequirement {
        key: it.key.clone(),
        operator: "In".into(),
        values: it.values.clone(),
    });
    let selector =
        LabelSelector { match_expressions: expressions.collect(), ..LabelSelector::default() };
    selector.compile().ok()
}

/// Nodes with enough room, where the class's driver tells of it (KEP-1472).
fn room(
    claim: &PersistentVolumeClaim,
    class: &StorageClass,
    listers: &Listers,
) -> Option<Vec<Selector>> {
    let size = claim.spec.resources.requests.get("storage")?.value();
    let driver = listers.csi_drivers.get("", &class.provisioner)?;
    if driver.spec.storage_capacity != Some(true) {
        return None;
    }
    let fits = |it: &&Arc<CsiStorageCapacity>| {
        it.storage_class_name == class.metadata.name
            && largest_volume(it).is_some_and(|largest| largest.value() >= size)
    };
    let capacities = listers.csi_storage_capacities.iter().filter(fits);
    let nodes = capacities.filter_map(|it| it.node_topology.as_ref()?.compile().ok());
    Some(nodes.collect())
}

/// The largest volume that there is room for.
pub(super) fn largest_volume(capacity: &CsiStorageCapacity) -> Option<&Quantity> {
    capacity.maximum_volume_size.as_ref().or(capacity.capacity.as_ref())
}

const NO_PROVISIONER: &str = "kubernetes.io/no-provisioner";
