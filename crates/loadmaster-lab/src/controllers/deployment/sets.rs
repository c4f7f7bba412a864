//! The replica sets of a deployment: finding, making, naming, numbering and sizing them.

use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::{RECORDER, Rollout};
use crate::api::DeleteOptions;
use crate::controllers::events::Severity;
use crate::controllers::replica_set::owner_reference;
use crate::resources::Collection;
use crate::selectors::LabelSelector;
use crate::status::Status;
use crate::store::{Object, is_being_deleted, text};
use crate::values::{controller_of, is_controlled_by, number};

/// The label that tells the sets of a deployment apart.
const HASH_LABEL: &str = "pod-template-hash";
/// The revision of a set or a deployment.
pub(super) const REVISION: &str = "deployment.kubernetes.io/revision";
const REVISION_HISTORY: &str = "deployment.kubernetes.io/revision-history";
pub(super) const DESIRED: &str = "deployment.kubernetes.io/desired-replicas";
pub(super) const MAX: &str = "deployment.kubernetes.io/max-replicas";

/// Annotations of a deployment that are not passed on to its sets.
const OWN_ANNOTATIONS: [&str; 5] =
    ["kubectl.kubernetes.io/last-applied-configuration", REVISION, REVISION_HISTORY, DESIRED, MAX];

/// A deployment's sets.
#[derive(Clone, Debug)]
pub(super) struct Sets {
    /// The set of the current template, if it exists.
    pub(super) new: Option<Object>,
    /// The others, oldest first.
    pub(super) old: Vec<Object>,
}

impl Sets {
    /// All of them, the new one last.
    pub(super) fn all(&self) -> Vec<Object> {
        self.old.iter().chain(&self.new).cloned().collect()
    }

    /// Those that shall have pods.
    pub(super) fn active(&self) -> Vec<Object> {
        self.all().into_iter().filter(|it| number(it, "/spec/replicas") > 0).collect()
    }
}

/// The sum of a number over sets.
pub(super) fn sum(sets: &[Object], pointer: &str) -> i64 {
    sets.iter().map(|it| number(it, pointer)).sum()
}

impl Rollout<'_> {
    /// The deployment's sets as they are now; sets without an owner that match are taken in.
    pub(super) fn find_sets(&self) -> Sets {
        let uid = text(&self.deployment, "uid");
        let selector = LabelSelector::from_object(&self.deployment["spec"]["selector"]);
        let (mut sets, _) = self.api.store().list(Collection::REPLICA_SETS, Some(self.namespace()));
        sets.retain(|set| {
            is_controlled_by(set, uid)
                || (controller_of(set).is_none()
                    && selector.matches(set)
                    && !is_being_deleted(set)
                    && !is_being_deleted(&self.deployment)
                    && self.adopt(set))
        });
        let age =
            |it: &Object| (text(it, "creationTimestamp").to_owned(), text(it, "name").to_owned());
        sets.sort_by_key(age);
        let wanted = without_hash(&self.deployment["spec"]["template"]);
        let new = sets.iter().position(|it| without_hash(&it["spec"]["template"]) == wanted);
        let new = new.map(|index| sets.remove(index));
        Sets { new, old: sets }
    }

    fn adopt(&self, set: &Object) -> bool {
        let owner = owner_reference("Deployment", &self.deployment);
        let (namespace, name) = (text(set, "namespace"), text(set, "name"));
        let adopted = self.api.store().edit(Collection::REPLICA_SETS, namespace, name, |set| {
            set["metadata"]["ownerReferences"] = json!([owner]);
        });
        adopted.is_ok()
    }

    /// The set of the current template, made if it does not exist and `create` says so, with its
    /// revision and annotations up to date.
    pub(super) fn adopt_new_set(
        &mut self,
        sets: &Sets,
        create: bool,
    ) -> Result<Option<Object>, Status> {
        let revision = 1 + sets.old.iter().map(|it| revision_of(it)).max().unwrap_or_default();
        let Some(set) = &sets.new else {
            if !create {
                return Ok(None);
            }
            return self.create_set(sets, revision).map(Some);
        };
        let annotations = self.set_annotations(revision, Some(set));
        let updated = self.edit_set(set, |set| {
            set["metadata"]["annotations"] = annotations.clone();
            copy_min_ready(&self.deployment, set);
        })?;
        let revision = text_annotation(&updated, REVISION).to_owned();
        let name = text(&updated, "name").to_owned();
        self.set_revision(&revision);
        self.note_found_set(&name);
        Ok(Some(updated))
    }

    fn create_set(&mut self, sets: &Sets, revision: i64) -> Result<Object, Status> {
        let hash = template_hash(&self.deployment["spec"]["template"]);
        let mut template = self.deployment["spec"]["template"].clone();
        template["metadata"]["labels"][HASH_LABEL] = json!(hash);
        let mut selector = self.deployment["spec"]["selector"].clone();
        selector["matchLabels"][HASH_LABEL] = json!(hash);
        let replicas = self.new_set_replicas(&sets.old, 0);
        let mut set = json!({
            "apiVersion": "apps/v1", "kind": "ReplicaSet",
            "metadata": {"name": format!("{}-{hash}", self.name()),
                "labels": template["metadata"]["labels"],
                "annotations": self.set_annotations(revision, None),
                "ownerReferences": [owner_reference("Deployment", &self.deployment)]},
            "spec": {"replicas": replicas, "selector": selector, "template": template},
        });
        copy_min_ready(&self.deployment, &mut set);
        let resource = Collection::REPLICA_SETS.resource();
        let created = self.api.create(resource, self.namespace(), set, false)?;
        let name = text(&created, "name").to_owned();
        if replicas > 0 {
            let message = format!("Scaled up replica set {name} from 0 to {replicas}");
            self.tell(&message);
        }
        self.set_revision(&revision.to_string());
        self.note_created_set(&name);
        Ok(created)
    }

    /// The annotations of a set: the deployment's, and the set's own bookkeeping.
    fn set_annotations(&self, revision: i64, set: Option<&Object>) -> Value {
        let mut annotations =
            set.map_or_else(|| json!({}), |it| it["metadata"]["annotations"].clone());
        if !annotations.is_object() {
            annotations = json!({});
        }
        let own = self.deployment["metadata"]["annotations"].as_object();
        for (name, value) in own.into_iter().flatten() {
            if !OWN_ANNOTATIONS.contains(&name.as_str()) {
                annotations[name.as_str()] = value.clone();
            }
        }
        let before = set.map(|it| revision_of(it)).unwrap_or_default();
        if before < revision {
            // A set that comes back into use remembers the numbers that it had.
            if before > 0 {
                let history = annotations[REVISION_HISTORY].as_str().unwrap_or_default();
                let history = if history.is_empty() {
                    before.to_string()
                } else {
                    format!("{history},{before}")
                };
                annotations[REVISION_HISTORY] = json!(history);
            }
            annotations[REVISION] = json!(revision.to_string());
        }
        if set.is_none() {
            self.put_sizes(&mut annotations);
        }
        annotations
    }

    fn put_sizes(&self, annotations: &mut Value) {
        let (surge, _) = self.slack();
        annotations[DESIRED] = json!(self.replicas().to_string());
        annotations[MAX] = json!((self.replicas() + surge).to_string());
    }

    /// Gives a set this many replicas and tells about it.
    pub(super) fn scale_set(&mut self, set: &Object, replicas: i64) -> Result<Object, Status> {
        let before = number(set, "/spec/replicas");
        let updated = self.edit_set(set, |set| {
            set["spec"]["replicas"] = json!(replicas);
            let mut annotations = set["metadata"]["annotations"].take();
            self.put_sizes(&mut annotations);
            set["metadata"]["annotations"] = annotations;
        })?;
        if before != replicas {
            let way = if before < replicas { "up" } else { "down" };
            let name = text(set, "name");
            self.tell(&format!("Scaled {way} replica set {name} from {before} to {replicas}"));
        }
        Ok(updated)
    }

    fn edit_set(&self, set: &Object, change: impl FnMut(&mut Value)) -> Result<Object, Status> {
        let (namespace, name) = (text(set, "namespace"), text(set, "name"));
        let edited = self.api.store().edit(Collection::REPLICA_SETS, namespace, name, change);
        edited.map_err(|error| Status::from_store(error, Collection::REPLICA_SETS.resource()))
    }

    fn tell(&self, message: &str) {
        let (deployment, now) = (&self.deployment, self.now);
        RECORDER.record(self.api, deployment, Severity::Normal, "ScalingReplicaSet", message, now);
    }

    fn set_revision(&mut self, revision: &str) {
        if text_annotation(&self.deployment, REVISION) == revision {
            return;
        }
        self.edit_deployment(|deployment| {
            if !deployment["metadata"]["annotations"].is_object() {
                deployment["metadata"]["annotations"] = json!({});
            }
            deployment["metadata"]["annotations"][REVISION] = json!(revision);
        });
    }

    /// Removes old sets without pods beyond the revision history limit.
    pub(super) fn clean_up(&self, sets: &Sets) -> Result<(), Status> {
        let Some(limit) = self.deployment["spec"]["revisionHistoryLimit"].as_u64() else {
            return Ok(());
        };
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        let mut removable: Vec<&Object> =
            sets.old.iter().filter(|it| !is_being_deleted(it)).collect();
        let surplus = removable.len().saturating_sub(limit);
        removable.sort_by_key(|it| revision_of(it));
        for set in removable.into_iter().take(surplus) {
            let busy = number(set, "/status/replicas") != 0 || number(set, "/spec/replicas") != 0;
            if busy {
                continue;
            }
            let options = DeleteOptions {
                uid: Some(text(set, "uid").to_owned()),
                ..DeleteOptions::default()
            };
            let (namespace, name) = (text(set, "namespace"), text(set, "name"));
            self.api.delete(Collection::REPLICA_SETS.resource(), namespace, name, &options)?;
        }
        Ok(())
    }
}

fn copy_min_ready(deployment: &Value, set: &mut Value) {
    match deployment["spec"].get("minReadySeconds") {
        Some(seconds) => set["spec"]["minReadySeconds"] = seconds.clone(),
        None => {
            if let Some(spec) = set["spec"].as_object_mut() {
                spec.remove("minReadySeconds");
            }
        }
    }
}

pub(super) fn revision_of(set: &Value) -> i64 {
    text_annotation(set, REVISION).parse().unwrap_or_default()
}

pub(super) fn text_annotation<'a>(object: &'a Value, name: &str) -> &'a str {
    object["metadata"]["annotations"][name].as_str().unwrap_or_default()
}

/// A template as it was before a set added its own label.
fn without_hash(template: &Value) -> Value {
    let mut template = template.clone();
    if let Some(labels) = template["metadata"]["labels"].as_object_mut() {
        labels.remove(HASH_LABEL);
    }
    template
}

/// Ten letters that depend on the template alone, from the alphabet of generated names.
fn template_hash(template: &Value) -> String {
    const ALPHABET: &[u8] = b"bcdfghjklmnpqrstvwxz2456789";
    let digest = Sha256::digest(without_hash(template).to_string());
    digest
        .iter()
        .take(10)
        .map(|byte| char::from(ALPHABET[usize::from(*byte) % ALPHABET.len()]))
        .collect()
}
