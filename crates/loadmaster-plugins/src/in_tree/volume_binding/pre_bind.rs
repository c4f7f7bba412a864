//! PreBind writes what Reserve chose, one object after the other, and waits until the claims are
//! bound.

use loadmaster_framework::{
    Action, Cycle, CycleState, EventResource, Listers, Outcome, PatchKind, PreBind, PreBindInput,
    PreBindStep, PreFlight, Status,
    api::{CsiNode, Node, ObjectKey, ObjectMeta, PersistentVolume, PersistentVolumeClaim},
};
use serde_json::{Value, json};

use super::{
    BOUND_BY_CONTROLLER, SELECTED_NODE, VolumeBinding,
    claims::is_fully_bound,
    reach::BoundReach,
    reserve::{Reservation, What, Write},
};

impl PreBind for VolumeBinding {
    fn pre_flight(&self, _: Cycle<'_>, state: &CycleState, _: &str) -> Outcome<PreFlight> {
        let reserved = state.try_get::<Reservation>().is_some();
        Ok(if reserved { PreFlight::Needed } else { PreFlight::Skip })
    }

    fn step(
        &self,
        cx: Cycle<'_>,
        state: &mut CycleState,
        node: &str,
        input: PreBindInput,
    ) -> PreBindStep {
        let Some(reservation) = state.get_mut::<Reservation>() else { return PreBindStep::Ready };
        let is_over = matches!(input, PreBindInput::Deadline);
        if let PreBindInput::Done(results) = input {
            for result in results {
                match result {
                    Ok(answer) => reservation.note(&answer),
                    Err(error) => return PreBindStep::Fail(Status::error(error)),
                }
            }
        }
        if let Some(action) = reservation.next_action() {
            return PreBindStep::Do(vec![action]);
        }
        match reservation.check(cx, node) {
            Ok(true) => PreBindStep::Ready,
            Ok(false) if is_over => fail("context deadline exceeded"),
            Ok(false) => {
                let end = cx.now + self.bind_timeout;
                let deadline = *reservation.deadline.get_or_insert(end);
                PreBindStep::WaitFor { keys: reservation.keys(cx.snapshot.listers()), deadline }
            }
            Err(error) => fail(&error),
        }
    }
}

fn fail(why: &str) -> PreBindStep {
    PreBindStep::Fail(Status::error(format!("binding volumes: {why}")))
}

impl Reservation {
    /// Notes the server's answer to the last action.
    fn note(&mut self, answer: &Value) {
        if let Some(write) = self.writes.get_mut(self.written) {
            let version = answer.pointer("/metadata/resourceVersion").and_then(Value::as_str);
            write.version = version.and_then(|it| it.parse().ok());
            self.written += 1;
        }
    }

    /// The next object to write.
    fn next_action(&mut self) -> Option<Action> {
        while let Some(write) = self.writes.get(self.written) {
            if write.is_needed {
                return Some(write.action());
            }
            self.written += 1;
        }
        None
    }

    /// Whether all claims are bound.
    ///
    /// # Errors
    /// Upstream's text where the binding has come undone.
    fn check(&self, cx: Cycle<'_>, node: &str) -> Result<bool, String> {
        let Some(info) = cx.snapshot.node(node) else {
            return Err(format!("failed to get node {node:?}: node {node:?} not found"));
        };
        let listers = cx.snapshot.listers();
        let csi_node = listers.csi_nodes.get("", node).map(|it| &**it);
        let world = World { listers, node: info.node(), csi_node };
        for write in &self.writes {
            let is_bound = match &write.what {
                What::Bind { volume, claim } => world.is_bound(write, volume, claim)?,
                What::Provision { claim } => world.is_provisioned(write, claim)?,
            };
            if !is_bound {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// The objects whose changes matter.
    fn keys(&self, listers: &Listers) -> Vec<(EventResource, ObjectKey)> {
        let mut keys = Vec::with_capacity(2 * self.writes.len());
        for write in &self.writes {
            let (What::Bind { claim, .. } | What::Provision { claim }) = &write.what;
            let key = claim.metadata.key();
            let known = listers.persistent_volume_claims.by_key(&key);
            let volume = match &write.what {
                What::Bind { volume, .. } => Some(volume.metadata.name.clone()),
                What::Provision { .. } => known.map(|it| it.spec.volume_name.clone()),
            };
            keys.push((EventResource::PersistentVolumeClaim, key));
            if let Some(name) = volume.filter(|it| !it.is_empty()) {
                keys.push((EventResource::PersistentVolume, ObjectKey::new("", name)));
            }
        }
        keys
    }
}

impl Write {
    fn action(&self) -> Action {
        let (resource, key, mut patch) = match &self.what {
            What::Bind { volume, claim } => {
                let mut annotations = serde_json::Map::new();
                if let Some(value) = volume.metadata.annotations.get(BOUND_BY_CONTROLLER) {
                    annotations.insert(BOUND_BY_CONTROLLER.to_owned(), json!(value));
                }
                let claim_ref = json!({
                    "apiVersion": "v1",
                    "kind": "PersistentVolumeClaim",
                    "namespace": claim.metadata.namespace,
                    "name": claim.metadata.name,
                    "uid": claim.metadata.uid,
                    "resourceVersion": claim.metadata.resource_version,
                });
                let patch = json!({
                    "metadata": {"annotations": annotations},
                    "spec": {"claimRef": claim_ref},
                });
                ("persistentvolumes", volume.metadata.key(), patch)
            }
            What::Provision { claim } => {
                let node = claim.metadata.annotations.get(SELECTED_NODE);
                let patch = json!({"metadata": {"annotations": {SELECTED_NODE: node}}});
                ("persistentvolumeclaims", claim.metadata.key(), patch)
            }
        };
        // Only the version that was looked at may be written: two schedulers may want one volume.
        let metadata = self.metadata();
        for (field, value) in
            [("resourceVersion", &metadata.resource_version), ("uid", &metadata.uid)]
        {
            if !value.is_empty() {
                patch["metadata"][field] = json!(value);
            }
        }
        Action::Patch {
            api_version: "v1".into(),
            resource: resource.into(),
            key,
            subresource: "".into(),
            kind: PatchKind::Merge,
            patch,
        }
    }

    fn metadata(&self) -> &ObjectMeta {
        match &self.what {
            What::Bind { volume, .. } => &volume.metadata,
            What::Provision { claim } => &claim.metadata,
        }
    }

    /// Whether the world does not show the write yet.
    fn is_ahead_of(&self, known: &ObjectMeta) -> bool {
        let seen = known.resource_version.parse::<u64>();
        match (self.version, seen) {
            (Some(written), Ok(seen)) => written > seen,
            _ => self.is_needed && known.resource_version == self.metadata().resource_version,
        }
    }
}

/// The world as it is, without what was assumed.
struct World<'a> {
    listers: &'a Listers,
    node: &'a Node,
    csi_node: Option<&'a CsiNode>,
}

impl World<'_> {
    fn claim(&self, claim: &PersistentVolumeClaim) -> Result<&PersistentVolumeClaim, String> {
        let key = claim.metadata.key();
        let known = self.listers.persistent_volume_claims.by_key(&key).map(|it| &**it);
        let key = key.to_string();
        known.ok_or_else(|| format!("persistentvolumeclaims {key:?} not found"))
    }

    fn is_bound(
        &self,
        write: &Write,
        volume: &PersistentVolume,
        claim: &PersistentVolumeClaim,
    ) -> Result<bool, String> {
        let name = &volume.metadata.name;
        let Some(volume) = self.listers.persistent_volumes.get("", name) else {
            return Err(format!("failed to check binding: persistentvolumes {name:?} not found"));
        };
        let claim =
            self.claim(claim).map_err(|error| format!("failed to check binding: {error}"))?;
        if write.is_ahead_of(&volume.metadata) {
            return Ok(false);
        }
        self.check_reach(volume, "failed to translate pv to csi: ")?;
        if volume.spec.claim_ref.as_ref().is_none_or(|it| it.uid.is_empty()) {
            return Err(format!("ClaimRef got reset for pv {name:?}"));
        }
        Ok(is_fully_bound(claim))
    }

    fn is_provisioned(&self, write: &Write, claim: &PersistentVolumeClaim) -> Result<bool, String> {
        let claim = self
            .claim(claim)
            .map_err(|error| format!("failed to check provisioning pvc: {error}"))?;
        if write.is_ahead_of(&claim.metadata) {
            return Ok(false);
        }
        let (name, annotations) = (&claim.metadata.name, &claim.metadata.annotations);
        if annotations.is_empty() {
            return Err(format!("selectedNode annotation reset for PVC {name:?}"));
        }
        if annotations.get(SELECTED_NODE) != Some(self.node.name()) {
            // A provisioner that could not make the volume hands the choice back.
            return Err(format!("provisioning failed for PVC {name:?}"));
        }
        let volume = &claim.spec.volume_name;
        if !volume.is_empty() {
            // The claim may be seen before its volume is.
            let Some(volume) = self.listers.persistent_volumes.get("", volume) else {
                return Ok(false);
            };
            self.check_reach(volume, "")?;
        }
        Ok(is_fully_bound(claim))
    }

    /// Whether the node still reaches the volume.
    fn check_reach(&self, volume: &PersistentVolume, context: &str) -> Result<(), String> {
        let reach = BoundReach::of(volume);
        let reach = reach.on(self.csi_node).map_err(|error| format!("{context}{error}"))?;
        reach.check(&self.node.metadata.labels).map_err(|error| {
            let (volume, node) = (&volume.metadata.name, self.node.name());
            format!("pv {volume:?} node affinity doesn't match node {node:?}: {error}")
        })
    }
}
