//! Which volumes of a pod a driver attaches, and how they are told apart.

use std::{collections::BTreeSet, fmt};

use loadmaster_framework::{
    Listers,
    api::{ObjectKey, PersistentVolumeClaim, Pod, Text, Volume},
};

use crate::in_tree::storage::{ClaimName, claim_class, find_claim, migration::InTree};

/// A volume as its driver counts it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Attachable {
    pub(super) driver: Text,
    pub(super) id: VolumeId,
}

/// What tells a driver's volumes apart.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum VolumeId {
    /// The driver's own name for it.
    Handle(Text),
    /// The claim that it will be made for.
    Claim(ObjectKey),
}

/// Why a pod's volumes cannot be counted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Uncountable {
    /// A claim is not there.
    NotFound(String),
    /// A volume is not as it should be.
    Broken(String),
}

impl fmt::Display for Uncountable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotFound(text) | Self::Broken(text) => f.write_str(text),
        }
    }
}

/// Adds the volumes of `pod` that are counted on a node, where `has_csi_node` tells whether the
/// drivers of the node are known. A claim that is not there is an error for a new pod only.
///
/// # Errors
/// With upstream's text.
pub(super) fn collect(
    pod: &Pod,
    listers: &Listers,
    has_csi_node: bool,
    is_new: bool,
    into: &mut BTreeSet<Attachable>,
) -> Result<(), Uncountable> {
    for volume in &pod.spec.volumes {
        let Some(name) = ClaimName::of(pod, volume) else {
            if let Some(volume) = inline(volume, has_csi_node)? {
                into.insert(volume);
            }
            continue;
        };
        if name.name.is_empty() {
            let text = "PersistentVolumeClaim had no name";
            return Err(Uncountable::Broken(text.to_owned()));
        }
        let claim = match find_claim(listers, pod, &name.name) {
            Ok(claim) => claim,
            Err(_) if !is_new => continue,
            Err(error) => {
                let text = format!("looking up PVC {}/{}: {error}", pod.namespace(), name.name);
                return Err(Uncountable::NotFound(text));
            }
        };
        name.check_owner(pod, claim).map_err(Uncountable::Broken)?;
        into.extend(of_claim(claim, listers, has_csi_node));
    }
    Ok(())
}

/// A disk given in the pod, if the driver that took over counts it.
fn inline(volume: &Volume, has_csi_node: bool) -> Result<Option<Attachable>, Uncountable> {
    let kind = InTree::of_inline(volume).filter(|it| has_csi_node && it.is_migrated());
    let Some(kind) = kind else { return Ok(None) };
    let handle = kind.inline_handle(volume).map_err(|error| {
        let name = &volume.name;
        Uncountable::Broken(format!("converting volume({name}) from inline to csi: {error}"))
    })?;
    Ok(Some(Attachable { driver: kind.driver().into(), id: VolumeId::Handle(handle) }))
}

/// The volume of a claim, or the one that its class will make.
fn of_claim(
    claim: &PersistentVolumeClaim,
    listers: &Listers,
    has_csi_node: bool,
) -> Option<Attachable> {
    let name = &claim.spec.volume_name;
    let volume = (!name.is_empty()).then(|| listers.persistent_volumes.get("", name)).flatten();
    let Some(volume) = volume else { return of_class(claim, listers, has_csi_node) };
    let (driver, handle) = if let Some(csi) = &volume.spec.csi {
        (csi.driver.clone(), csi.volume_handle.clone())
    } else {
        let kind = InTree::of_persistent(volume);
        let kind = kind.filter(|it| has_csi_node && it.is_migrated())?;
        (kind.driver().into(), kind.handle(volume).ok()?)
    };
    let is_named = !driver.is_empty() && !handle.is_empty();
    is_named.then_some(Attachable { driver, id: VolumeId::Handle(handle) })
}

/// The volume that the claim's class will make. Without a class the claim is bound before the pod
/// is tried.
fn of_class(
    claim: &PersistentVolumeClaim,
    listers: &Listers,
    has_csi_node: bool,
) -> Option<Attachable> {
    let class = listers.storage_classes.get("", claim_class(claim))?;
    let driver = match InTree::of_provisioner(&class.provisioner) {
        Some(kind) if has_csi_node && kind.is_migrated() => kind.driver().into(),
        Some(_) => return None,
        None => class.provisioner.clone(),
    };
    let id = VolumeId::Claim(claim.metadata.key());
    (!driver.is_empty()).then_some(Attachable { driver, id })
}
