//! Reserve notes what was chosen for the pod's claims, for the cycles to come and for PreBind.

use std::{sync::Arc, time::Duration};

use loadmaster_framework::{
    Cycle, CycleState, Handle, Listers, Object, Outcome, Reserve, Status,
    api::{ObjectReference, PersistentVolume, PersistentVolumeClaim, Text},
};

use super::{Asked, BOUND_BY_CONTROLLER, SELECTED_NODE, VolumeBinding, candidates::is_bound_to};

/// What was chosen for the pod's claims, and how far it is written.
#[derive(Clone, Debug)]
pub(super) struct Reservation {
    pub(super) writes: Vec<Write>,
    /// How many of `writes` are done.
    pub(super) written: usize,
    /// Until when PreBind waits for claims to be bound.
    pub(super) deadline: Option<Duration>,
}

/// An object as it is to be, and as the server answered.
#[derive(Clone, Debug)]
pub(super) struct Write {
    pub(super) what: What,
    /// Whether there is anything to write.
    pub(super) is_needed: bool,
    /// The server's version after the write, where it told.
    pub(super) version: Option<u64>,
}

/// What is to be written.
#[derive(Clone, Debug)]
pub(super) enum What {
    /// The volume is for the claim.
    Bind { volume: Arc<PersistentVolume>, claim: Arc<PersistentVolumeClaim> },
    /// A volume is to be made for the claim.
    Provision { claim: Arc<PersistentVolumeClaim> },
}

impl What {
    /// Whether the world is so already. What others have but assumed is not looked at: their
    /// write may come to nothing.
    fn is_shown_by(&self, listers: &Listers) -> bool {
        match self {
            Self::Bind { volume, .. } => {
                let known = listers.persistent_volumes.get("", &volume.metadata.name);
                known.is_some_and(|it| {
                    it.spec.claim_ref == volume.spec.claim_ref
                        && it.metadata.annotations == volume.metadata.annotations
                })
            }
            Self::Provision { claim } => {
                let known = listers.persistent_volume_claims.by_key(&claim.metadata.key());
                known.is_some_and(|it| it.metadata.annotations == claim.metadata.annotations)
            }
        }
    }

    /// The object that is written, as it is to be.
    fn object(&self) -> Object {
        match self {
            Self::Bind { volume, .. } => Object::PersistentVolume(Arc::clone(volume)),
            Self::Provision { claim } => Object::PersistentVolumeClaim(Arc::clone(claim)),
        }
    }
}

impl Reserve for VolumeBinding {
    fn reserve(
        &self,
        cx: Cycle<'_>,
        state: &mut CycleState,
        node: &str,
        handle: &mut dyn Handle,
    ) -> Outcome {
        let claims = Asked::of(cx, state)?;
        if claims.is_all_bound() {
            return Ok(());
        }
        let Some(info) = cx.snapshot.node(node) else {
            return Err(Status::error(format!("node {node:?} not found")));
        };
        let csi_node = cx.snapshot.listers().csi_nodes.get("", node);
        let volumes = claims.find(info.node(), csi_node.map(|it| &**it))?;
        let bindings = volumes.bindings.iter().map(|(volume, claim)| bind(volume, claim));
        let provisions = volumes.provisions.iter().map(|claim| provision(claim, info.name()));
        let mut writes: Vec<Write> = bindings.chain(provisions).collect();
        for write in &mut writes {
            write.is_needed = !write.what.is_shown_by(cx.snapshot.listers());
        }
        for write in writes.iter().filter(|it| it.is_needed) {
            handle.assume(write.what.object());
        }
        state.put(Reservation { writes, written: 0, deadline: None });
        Ok(())
    }

    /// What is written already stays: the world will show it.
    fn unreserve(&self, _: Cycle<'_>, state: &mut CycleState, _: &str, handle: &mut dyn Handle) {
        let Some(reservation) = state.try_get::<Reservation>() else { return };
        for write in reservation.writes.iter().skip(reservation.written) {
            handle.restore(&write.what.object());
        }
    }
}

/// The volume, kept for the claim (upstream: `volume.GetBindVolumeToClaim`).
fn bind(volume: &Arc<PersistentVolume>, claim: &Arc<PersistentVolumeClaim>) -> Write {
    let mut bound = PersistentVolume::clone(volume);
    let (name, namespace) = (&claim.metadata.name, &claim.metadata.namespace);
    let names_it = |it: &ObjectReference| {
        it.name == *name && it.namespace == *namespace && it.uid == claim.metadata.uid
    };
    if !volume.spec.claim_ref.as_ref().is_some_and(names_it) {
        bound.spec.claim_ref = Some(ObjectReference {
            kind: "PersistentVolumeClaim".into(),
            namespace: namespace.clone(),
            name: name.clone(),
            uid: claim.metadata.uid.clone(),
        });
    }
    let annotations = &volume.metadata.annotations;
    if !is_bound_to(volume, claim) && !annotations.contains_key(BOUND_BY_CONTROLLER) {
        bound.metadata.annotations = annotations.with(BOUND_BY_CONTROLLER, "yes");
    }
    let what = What::Bind { volume: Arc::new(bound), claim: Arc::clone(claim) };
    Write { what, is_needed: true, version: None }
}

/// The claim, its volume to be made for `node`.
fn provision(claim: &Arc<PersistentVolumeClaim>, node: &Text) -> Write {
    let mut selected = PersistentVolumeClaim::clone(claim);
    selected.metadata.annotations = claim.metadata.annotations.with(SELECTED_NODE, node.clone());
    let what = What::Provision { claim: Arc::new(selected) };
    Write { what, is_needed: true, version: None }
}
