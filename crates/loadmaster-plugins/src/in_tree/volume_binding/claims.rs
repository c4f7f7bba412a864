//! What the claims of a pod ask of a node, found once a cycle.

use std::sync::Arc;

use loadmaster_framework::{
    Listers, Outcome, Reason, Status,
    api::{
        CsiNode, Labels, Node, PersistentVolume, PersistentVolumeClaim, Pod, StorageClass, Text,
        VolumeBindingMode,
    },
};

use super::{
    BIND_COMPLETED, SELECTED_NODE,
    candidates::{Matching, requested},
    provisioning::{Provisioning, Verdict},
    reach::BoundReach,
};
use crate::in_tree::storage::{ClaimName, claim_class, claim_key, find_claim};

/// The claims of a pod.
#[derive(Debug, Default)]
pub(super) struct PodClaims {
    /// The volumes of those that are bound; nothing for one that does not exist.
    bound: Vec<Option<BoundReach>>,
    /// Those whose volume is to be made for a node that is chosen already.
    selected: Vec<(Text, Provisioning)>,
    /// Those that are bound once the pod has a node, the smallest first.
    unbound: Vec<Unbound>,
}

#[derive(Debug)]
struct Unbound {
    matching: Result<Matching, String>,
    provisioning: Provisioning,
}

/// What is to be done about the pod's claims where it goes to a node.
#[derive(Debug, Default)]
pub(super) struct NodeVolumes {
    /// Volumes that are there, each for a claim.
    pub(super) bindings: Vec<(Arc<PersistentVolume>, Arc<PersistentVolumeClaim>)>,
    /// Claims for which a volume is to be made.
    pub(super) provisions: Vec<Arc<PersistentVolumeClaim>>,
}

impl PodClaims {
    /// The claims of `pod`.
    ///
    /// # Errors
    /// A refusal where a claim is not there or should be bound by now; an error where the class of
    /// one does not say when it is bound.
    pub(super) fn of(pod: &Pod, listers: &Listers) -> Outcome<Self> {
        for name in ClaimName::all(pod) {
            check_claim(pod, &name, listers).map_err(Status::unresolvable)?;
        }
        let mut claims = Self::default();
        let mut has_unbound_immediate = false;
        let names = ClaimName::all(pod).map(|it| claim_key(pod, &it.name));
        for claim in names.filter_map(|key| listers.assumed_claim(&key)) {
            let volume = &claim.spec.volume_name;
            if is_fully_bound(claim) {
                let volume = listers.assumed_volume(volume);
                claims.bound.push(volume.map(|it| BoundReach::of(it)));
            } else if waits_for_consumer(claim, listers)? && volume.is_empty() {
                claims.add_unbound(claim, listers);
            } else {
                has_unbound_immediate = true;
            }
        }
        if has_unbound_immediate {
            return Err(Status::unresolvable(UNBOUND_IMMEDIATE));
        }
        claims.unbound.sort_by_cached_key(|it| requested(&it.provisioning.claim));
        Ok(claims)
    }

    fn add_unbound(&mut self, claim: &Arc<PersistentVolumeClaim>, listers: &Listers) {
        let provisioning = Provisioning::of(claim, listers);
        if let Some(node) = claim.metadata.annotations.get(SELECTED_NODE) {
            self.selected.push((node.clone(), provisioning));
        } else {
            let matching = Matching::of(claim, listers);
            self.unbound.push(Unbound { matching, provisioning });
        }
    }

    /// Whether the pod has no claims.
    pub(super) fn is_empty(&self) -> bool {
        self.bound.is_empty() && self.is_all_bound()
    }

    /// Whether every claim is bound.
    pub(super) fn is_all_bound(&self) -> bool {
        self.selected.is_empty() && self.unbound.is_empty()
    }

    /// What is to be done about the claims where the pod goes to `node`.
    ///
    /// # Errors
    /// A refusal with every reason, in upstream's order; an error where a volume or a class is not
    /// as it should be.
    pub(super) fn find(&self, node: &Node, csi_node: Option<&CsiNode>) -> Outcome<NodeVolumes> {
        let labels = &node.metadata.labels;
        let mut reasons: Vec<Reason> = Vec::new();
        let bound = self.check_bound(labels, csi_node).map_err(Status::error)?;
        if bound == Bound::OutOfReach {
            reasons.push(NODE_CONFLICT.into());
        }
        let (verdict, volumes) = self.find_unbound(node).map_err(Status::error)?;
        match verdict {
            Verdict::Possible => {}
            Verdict::Impossible => reasons.push(BIND_CONFLICT.into()),
            Verdict::NoRoom => reasons.push(NOT_ENOUGH_SPACE.into()),
        }
        if bound == Bound::Lost {
            reasons.push(VOLUME_NOT_EXIST.into());
        }
        if reasons.is_empty() {
            return Ok(volumes);
        }
        Err(Status::unresolvable_for(reasons))
    }

    /// Looks at the bound volumes, up to the first that stands against the node.
    fn check_bound(&self, labels: &Labels, csi_node: Option<&CsiNode>) -> Result<Bound, String> {
        for volume in &self.bound {
            let Some(volume) = volume else { return Ok(Bound::Lost) };
            if volume.on(csi_node)?.check(labels).is_err() {
                return Ok(Bound::OutOfReach);
            }
        }
        Ok(Bound::InReach)
    }

    /// Finds volumes for the claims that wait for the node, or what would make them.
    fn find_unbound(&self, node: &Node) -> Result<(Verdict, NodeVolumes), String> {
        let mut volumes = NodeVolumes::default();
        if self.selected.iter().any(|(selected, _)| selected != node.name()) {
            return Ok((Verdict::Impossible, volumes));
        }
        let labels = &node.metadata.labels;
        let mut to_make: Vec<&Provisioning> = self.selected.iter().map(|(_, it)| it).collect();
        for unbound in &self.unbound {
            let matching = unbound.matching.as_ref().map_err(Clone::clone)?;
            let bindings = &volumes.bindings;
            let taken = |name: &Text| bindings.iter().any(|(it, _)| it.metadata.name == *name);
            match matching.pick(labels, taken).cloned() {
                Some(volume) => {
                    let claim = Arc::clone(&unbound.provisioning.claim);
                    volumes.bindings.push((volume, claim));
                }
                None => to_make.push(&unbound.provisioning),
            }
        }
        for provisioning in to_make {
            match provisioning.check(labels)? {
                Verdict::Possible => volumes.provisions.push(Arc::clone(&provisioning.claim)),
                verdict => return Ok((verdict, volumes)),
            }
        }
        Ok((Verdict::Possible, volumes))
    }
}

/// What the bound volumes say of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Bound {
    InReach,
    OutOfReach,
    Lost,
}

/// Whether the claim is there, and there to stay.
fn check_claim(pod: &Pod, name: &ClaimName, listers: &Listers) -> Result<(), String> {
    let claim = find_claim(listers, pod, &name.name).map_err(|error| {
        if name.is_ephemeral {
            let name = &name.name;
            format!(
                "waiting for ephemeral volume controller to create the persistentvolumeclaim \
                 {name:?}"
            )
        } else {
            error
        }
    })?;
    let (name_text, volume) = (&claim.metadata.name, &claim.spec.volume_name);
    if &*claim.status.phase == "Lost" {
        return Err(format!(
            "persistentvolumeclaim {name_text:?} bound to non-existent persistentvolume {volume:?}"
        ));
    }
    if claim.metadata.deletion_timestamp.is_some() {
        return Err(format!("persistentvolumeclaim {name_text:?} is being deleted"));
    }
    name.check_owner(pod, claim)
}

/// Whether claim and volume are bound to each other, both ways.
pub(super) fn is_fully_bound(claim: &PersistentVolumeClaim) -> bool {
    !claim.spec.volume_name.is_empty() && claim.metadata.annotations.contains_key(BIND_COMPLETED)
}

/// Whether the claim is bound only once a pod that uses it has a node.
fn waits_for_consumer(claim: &PersistentVolumeClaim, listers: &Listers) -> Outcome<bool> {
    let name = claim_class(claim);
    let class = listers.storage_classes.get("", name).filter(|_| !name.is_empty());
    let mode = |class: &Arc<StorageClass>| {
        class.volume_binding_mode.ok_or_else(|| {
            Status::error(format!("VolumeBindingMode not set for StorageClass {name:?}"))
        })
    };
    let mode = class.map(mode).transpose()?;
    Ok(mode == Some(VolumeBindingMode::WaitForFirstConsumer))
}

const UNBOUND_IMMEDIATE: &str = "pod has unbound immediate PersistentVolumeClaims";
const BIND_CONFLICT: &str = "node(s) didn't find available persistent volumes to bind";
const NODE_CONFLICT: &str = "node(s) didn't match PersistentVolume's node affinity";
const NOT_ENOUGH_SPACE: &str = "node(s) did not have enough free storage";
const VOLUME_NOT_EXIST: &str =
    "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)";
