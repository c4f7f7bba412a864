//! Deployments: replica sets by template, and the way from one to the next.
//!
//! Source: `pkg/controller/deployment` 1.36.

use jiff::Timestamp;
use serde_json::Value;

use super::events::Recorder;
use super::runner::{Controller, Key};
use crate::api::Api;
use crate::resources::Collection;
use crate::selectors::LabelSelector;
use crate::status::Status;
use crate::store::{Object, is_being_deleted, text};
use crate::values::{controller_of, list, number};

mod rolling;
mod scaling;
mod sets;
mod status;

use sets::Sets;

/// The controller of deployments.
#[derive(Clone, Copy, Debug)]
pub struct Deployments;

const RECORDER: Recorder = Recorder("deployment-controller");

impl Controller for Deployments {
    fn watches(&self) -> Vec<Collection> {
        vec![Collection::DEPLOYMENTS, Collection::REPLICA_SETS, Collection::PODS]
    }

    fn keys(&self, api: &Api, collection: Collection, object: &Value) -> Vec<Key> {
        let namespace = text(object, "namespace");
        match collection {
            Collection::DEPLOYMENTS => vec![Key::of(object)],
            Collection::REPLICA_SETS => match controller_of(object) {
                Some(owner) if owner["kind"] == "Deployment" => {
                    vec![Key::new(namespace, owner["name"].as_str().unwrap_or_default())]
                }
                Some(_) => Vec::new(),
                None => {
                    let (deployments, _) =
                        api.store().list(Collection::DEPLOYMENTS, Some(namespace));
                    let matching = |it: &&Object| {
                        LabelSelector::from_object(&it["spec"]["selector"]).matches(object)
                    };
                    deployments.iter().filter(matching).map(|it| Key::of(it)).collect()
                }
            },
            // Only `Recreate` waits for pods themselves: the last of the old ones must have gone.
            _ => recreating_owner(api, object).into_iter().collect(),
        }
    }

    fn reconcile(
        &mut self,
        api: &Api,
        key: &Key,
        now: Timestamp,
    ) -> Result<Option<Timestamp>, Status> {
        let found = api.store().get(Collection::DEPLOYMENTS, &key.namespace, &key.name);
        let Some(deployment) = found else { return Ok(None) };
        let mut work = Rollout { api, deployment, now };
        work.sync()
    }
}

/// The deployment with strategy `Recreate` whose old pod this is.
fn recreating_owner(api: &Api, pod: &Value) -> Option<Key> {
    let namespace = text(pod, "namespace");
    let set = controller_of(pod).filter(|it| it["kind"] == "ReplicaSet")?["name"].as_str()?;
    let set = api.store().get(Collection::REPLICA_SETS, namespace, set)?;
    let name = controller_of(&set).filter(|it| it["kind"] == "Deployment")?["name"].as_str()?;
    let deployment = api.store().get(Collection::DEPLOYMENTS, namespace, name)?;
    (deployment["spec"]["strategy"]["type"] == "Recreate").then(|| Key::new(namespace, name))
}

/// One look at one deployment.
#[derive(Debug)]
struct Rollout<'a> {
    api: &'a Api,
    deployment: Object,
    now: Timestamp,
}

impl Rollout<'_> {
    fn sync(&mut self) -> Result<Option<Timestamp>, Status> {
        let selector = &self.deployment["spec"]["selector"];
        if selector.as_object().is_none_or(serde_json::Map::is_empty) {
            // It would claim everything in its namespace.
            return Ok(None);
        }
        let mut sets = self.find_sets();
        if is_being_deleted(&self.deployment) {
            return Ok(self.write_status(&sets));
        }
        self.note_pause();
        if self.is_paused() {
            sets.new = self.adopt_new_set(&sets, false)?;
            self.scale_proportionally(&sets)?;
            self.clean_up(&sets)?;
        } else if self.is_resized(&sets) {
            sets.new = self.adopt_new_set(&sets, false)?;
            self.scale_proportionally(&sets)?;
        } else if self.deployment["spec"]["strategy"]["type"] == "Recreate" {
            self.recreate(&mut sets)?;
        } else {
            self.roll(&mut sets)?;
        }
        let sets = self.find_sets();
        let next = self.write_status(&sets);
        if !self.is_paused() && self.is_complete() {
            self.clean_up(&sets)?;
        }
        Ok(next)
    }

    /// `Recreate`: the old pods go first, then the new ones come.
    fn recreate(&mut self, sets: &mut Sets) -> Result<(), Status> {
        sets.new = self.adopt_new_set(sets, false)?;
        for set in sets.old.clone() {
            if number(&set, "/spec/replicas") > 0 {
                self.scale_set(&set, 0)?;
                return Ok(());
            }
        }
        if self.old_pods_left(sets) {
            return Ok(());
        }
        sets.new = self.adopt_new_set(sets, true)?;
        if let Some(new) = sets.new.clone() {
            self.scale_set(&new, self.replicas())?;
        }
        Ok(())
    }

    fn old_pods_left(&self, sets: &Sets) -> bool {
        let (pods, _) = self.api.store().list(Collection::PODS, Some(self.namespace()));
        pods.iter().any(|pod| {
            !super::replica_set::is_finished(pod)
                && sets.old.iter().any(|set| {
                    list(pod, "/metadata/ownerReferences")
                        .iter()
                        .any(|it| it["uid"].as_str() == Some(text(set, "uid")))
                })
        })
    }

    fn replicas(&self) -> i64 {
        number(&self.deployment, "/spec/replicas")
    }

    fn is_paused(&self) -> bool {
        self.deployment["spec"]["paused"] == true
    }

    fn namespace(&self) -> &str {
        text(&self.deployment, "namespace")
    }

    fn name(&self) -> &str {
        text(&self.deployment, "name")
    }

    /// How many pods beyond, and how many fewer than, the replicas there may be.
    fn slack(&self) -> (i64, i64) {
        let strategy = &self.deployment["spec"]["strategy"];
        if strategy["type"] != "RollingUpdate" {
            return (0, 0);
        }
        let rolling = &strategy["rollingUpdate"];
        let surge = share(&rolling["maxSurge"], self.replicas(), true);
        let unavailable = share(&rolling["maxUnavailable"], self.replicas(), false);
        // Both zero would never move.
        if surge == 0 && unavailable == 0 { (0, 1) } else { (surge, unavailable) }
    }

    fn max_unavailable(&self) -> i64 {
        let (_, unavailable) = self.slack();
        unavailable.min(self.replicas())
    }
}

/// A number, or a percentage of `total`.
pub(super) fn share(value: &Value, total: i64, round_up: bool) -> i64 {
    match value {
        Value::String(text) => {
            let percent: i64 =
                text.strip_suffix('%').and_then(|it| it.parse().ok()).unwrap_or_default();
            let hundredths = percent.saturating_mul(total);
            (hundredths + if round_up { 99 } else { 0 }) / 100
        }
        other => other.as_i64().unwrap_or_default(),
    }
}

#[cfg(test)]
mod tests;
