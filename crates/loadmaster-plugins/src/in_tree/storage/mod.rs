//! What the storage plugins share: a pod's claims, classes, and disks of clouds under their
//! drivers.

pub(crate) mod migration;

use loadmaster_framework::{
    Listers,
    api::{ObjectKey, PersistentVolume, PersistentVolumeClaim, Pod, Text, Volume},
};

/// A claim that a volume of a pod stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ClaimName {
    /// In the pod's namespace.
    pub(crate) name: Text,
    /// Whether the claim is made for the pod and must be owned by it.
    pub(crate) is_ephemeral: bool,
}

impl ClaimName {
    /// The claim of `volume` of `pod`, if it stands for one.
    pub(crate) fn of(pod: &Pod, volume: &Volume) -> Option<Self> {
        if let Some(claim) = &volume.persistent_volume_claim {
            return Some(Self { name: claim.claim_name.clone(), is_ephemeral: false });
        }
        volume.ephemeral.as_ref()?;
        Some(Self { name: format!("{}-{}", pod.name(), volume.name).into(), is_ephemeral: true })
    }

    /// The claims of all volumes of `pod`, in manifest order.
    pub(crate) fn all(pod: &Pod) -> impl Iterator<Item = Self> {
        pod.spec.volumes.iter().filter_map(|volume| Self::of(pod, volume))
    }

    /// Whether the claim is the one that was made for `pod`; true of every other claim.
    ///
    /// # Errors
    /// Upstream's text.
    pub(crate) fn check_owner(
        &self,
        pod: &Pod,
        claim: &PersistentVolumeClaim,
    ) -> Result<(), String> {
        let owner = claim.metadata.controller();
        if !self.is_ephemeral || owner.is_some_and(|it| it.uid == *pod.uid()) {
            return Ok(());
        }
        let (claim, pod) = (claim.metadata.key(), pod.key());
        Err(format!("PVC {claim} was not created for pod {pod} (pod is not owner)"))
    }
}

/// The key of the claim `name` of `pod`.
pub(crate) fn claim_key(pod: &Pod, name: &Text) -> ObjectKey {
    ObjectKey::new(pod.namespace().clone(), name.clone())
}

/// Whether a volume of `pod` names the claim of this key outright.
pub(crate) fn names_claim(pod: &Pod, namespace: &str, name: &str) -> bool {
    let claims = pod.spec.volumes.iter().filter_map(|it| it.persistent_volume_claim.as_ref());
    **pod.namespace() == *namespace && claims.into_iter().any(|it| *it.claim_name == *name)
}

/// Whether a volume of `pod` stands for the claim of this key.
pub(crate) fn uses_claim(pod: &Pod, namespace: &str, name: &str) -> bool {
    **pod.namespace() == *namespace && ClaimName::all(pod).any(|it| *it.name == *name)
}

/// The class of a claim; empty where it asks for none.
pub(crate) fn claim_class(claim: &PersistentVolumeClaim) -> &str {
    let annotated = claim.metadata.annotations.get(BETA_CLASS);
    annotated.or(claim.spec.storage_class_name.as_ref()).map_or("", |it| it)
}

/// The class of a volume; empty where it has none.
pub(crate) fn volume_class(volume: &PersistentVolume) -> &str {
    volume.metadata.annotations.get(BETA_CLASS).unwrap_or(&volume.spec.storage_class_name)
}

/// The claim of this name in the namespace of `pod`.
///
/// # Errors
/// The API's text for one that is not there.
pub(crate) fn find_claim<'a>(
    listers: &'a Listers,
    pod: &Pod,
    name: &Text,
) -> Result<&'a PersistentVolumeClaim, String> {
    let claim = listers.persistent_volume_claims.by_key(&claim_key(pod, name));
    claim.map(|it| &**it).ok_or_else(|| format!("persistentvolumeclaim {name:?} not found"))
}

/// An annotation that goes before the field.
const BETA_CLASS: &str = "volume.beta.kubernetes.io/storage-class";
