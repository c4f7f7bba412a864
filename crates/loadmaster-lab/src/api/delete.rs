//! Deleting objects: grace, finalizers, propagation and preconditions.

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use super::{Api, lifecycle, views};
use crate::resources::{Collection, Resource};
use crate::status::{Details, Status};
use crate::store::{Object, StoreError, Write, is_being_deleted, rfc3339, text};

/// What happens to the objects that an owner leaves behind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Propagation {
    /// The owner goes at once, the collector removes its dependents later.
    Background,
    /// The owner stays until its blocking dependents are gone.
    Foreground,
    /// The dependents stay, without the owner reference.
    Orphan,
}

impl Propagation {
    /// The policy of that name.
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "Background" => Some(Self::Background),
            "Foreground" => Some(Self::Foreground),
            "Orphan" => Some(Self::Orphan),
            _ => None,
        }
    }

    fn finalizer(self) -> Option<&'static str> {
        match self {
            Self::Background => None,
            Self::Foreground => Some("foregroundDeletion"),
            Self::Orphan => Some("orphan"),
        }
    }
}

/// How to delete.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeleteOptions {
    /// Seconds that a bound pod gets; its own default when absent.
    pub grace_seconds: Option<i64>,
    /// What happens to dependents; background when absent.
    pub propagation: Option<Propagation>,
    /// The uid that the object must have.
    pub uid: Option<String>,
    /// The version that the object must have.
    pub resource_version: Option<String>,
    /// Whether to leave everything as it is.
    pub dry_run: bool,
}

impl DeleteOptions {
    /// At once and only if it is still that very object: how a kubelet ends a pod.
    pub fn now(uid: &str) -> Self {
        Self { grace_seconds: Some(0), uid: Some(uid.to_owned()), ..Self::default() }
    }
}

/// The outcome of a deletion.
#[derive(Clone, Debug, PartialEq)]
pub enum Deleted {
    /// The object is on its way: it waits for its grace period or for finalizers.
    Going(Object),
    /// The object is gone; this was its last state.
    Gone(Object),
}

impl Deleted {
    /// The object in either case.
    pub fn object(&self) -> &Object {
        match self {
            Self::Going(object) | Self::Gone(object) => object,
        }
    }
}

impl Api {
    /// Deletes an object, or starts to.
    ///
    /// # Errors
    /// 404, 403 for the namespaces that every cluster has, 409 when a precondition does not hold.
    pub fn delete(
        &self,
        resource: &Resource,
        namespace: &str,
        name: &str,
        options: &DeleteOptions,
    ) -> Result<Deleted, Status> {
        lifecycle::check_delete(resource, name)?;
        let mut gone = false;
        let mut decide = |current: &Object| -> Result<Write, Status> {
            check_preconditions(resource, name, current, options)?;
            let write = decide(resource, current, options, self.store.now());
            gone = matches!(write, Write::Remove | Write::PutAndRemove(_));
            Ok(write)
        };
        let object = if options.dry_run {
            let current = self.store.get(resource.collection, namespace, name);
            let current = current.ok_or_else(|| Status::not_found(resource, name))?;
            match decide(&current)? {
                Write::PutAsIs(next) | Write::PutAndRemove(next) => Arc::new(next),
                _ => current,
            }
        } else {
            self.store
                .update(resource.collection, namespace, name, |it| Ok(decide(it)?))
                .map_err(|error: StoreError| Status::from_store(error, resource))?
        };
        let viewed = views::from_stored(resource, &object);
        if gone {
            if !options.dry_run {
                self.forget(&object);
            }
            return Ok(Deleted::Gone(viewed));
        }
        Ok(Deleted::Going(viewed))
    }
}

/// What a deletion does to the object as it is now.
fn decide(resource: &Resource, current: &Object, options: &DeleteOptions, now: Timestamp) -> Write {
    if resource.collection == Collection::PODS {
        return decide_pod(current, options, now);
    }
    if is_being_deleted(current) {
        return Write::Keep;
    }
    let mut next = Value::clone(current);
    set_propagation(&mut next, options.propagation);
    let namespace = resource.collection == Collection::NAMESPACES;
    let kept = namespace && has_items(&current["spec"]["finalizers"]);
    if !has_items(&next["metadata"]["finalizers"]) && !kept {
        return Write::Remove;
    }
    next["metadata"]["deletionTimestamp"] = json!(rfc3339(now));
    if namespace {
        next["status"]["phase"] = json!("Terminating");
    } else {
        next["metadata"]["deletionGracePeriodSeconds"] = json!(0);
    }
    raise_generation(&mut next);
    Write::PutAsIs(next)
}

fn decide_pod(current: &Object, options: &DeleteOptions, now: Timestamp) -> Write {
    let mut grace = pod_grace(current, options);
    let mut next = Value::clone(current);
    set_propagation(&mut next, options.propagation);
    let metadata = &current["metadata"];
    if is_being_deleted(current) {
        // A second deletion may shorten what is left and never lengthen it.
        let running = metadata["deletionGracePeriodSeconds"].as_i64().unwrap_or(0);
        let shorter = options.grace_seconds.is_some() && grace < running;
        if !shorter {
            if running > 0 || has_items(&next["metadata"]["finalizers"]) {
                return Write::Keep;
            }
            grace = 0;
        }
    } else {
        raise_generation(&mut next);
    }
    next["metadata"]["deletionTimestamp"] = json!(after(now, grace));
    next["metadata"]["deletionGracePeriodSeconds"] = json!(grace);
    if grace == 0 && !has_items(&next["metadata"]["finalizers"]) {
        return Write::PutAndRemove(next);
    }
    Write::PutAsIs(next)
}

/// Seconds that the pod gets: none unless something runs on a node.
fn pod_grace(pod: &Value, options: &DeleteOptions) -> i64 {
    let unbound = pod["spec"]["nodeName"].as_str().is_none_or(str::is_empty);
    let finished = matches!(pod["status"]["phase"].as_str(), Some("Succeeded" | "Failed"));
    if unbound || finished {
        return 0;
    }
    let own = pod["spec"]["terminationGracePeriodSeconds"].as_i64().unwrap_or(30);
    let grace = options.grace_seconds.unwrap_or(own);
    // A negative period means "at once, but gracefully".
    if grace < 0 { 1 } else { grace }
}

fn after(now: Timestamp, seconds: i64) -> String {
    // A period beyond the end of time is as good as now: nobody will see it run out.
    let then = now.checked_add(SignedDuration::from_secs(seconds)).unwrap_or(now);
    rfc3339(then)
}

fn raise_generation(object: &mut Value) {
    if let Some(generation) = object["metadata"]["generation"].as_i64() {
        object["metadata"]["generation"] = json!(generation + 1);
    }
}

/// Gives the object the finalizer that stands for a policy and takes off those of the others.
fn set_propagation(object: &mut Value, policy: Option<Propagation>) {
    let Some(policy) = policy else { return };
    let mut finalizers: Vec<Value> =
        object["metadata"]["finalizers"].as_array().cloned().unwrap_or_default();
    finalizers.retain(|it| it != "orphan" && it != "foregroundDeletion");
    finalizers.extend(policy.finalizer().map(|it| json!(it)));
    if finalizers.is_empty() {
        if let Some(metadata) = object["metadata"].as_object_mut() {
            metadata.remove("finalizers");
        }
    } else {
        object["metadata"]["finalizers"] = json!(finalizers);
    }
}

fn has_items(list: &Value) -> bool {
    list.as_array().is_some_and(|it| !it.is_empty())
}

fn check_preconditions(
    resource: &Resource,
    name: &str,
    current: &Value,
    options: &DeleteOptions,
) -> Result<(), Status> {
    let fault = |what: &str, given: &str, actual: &str, advice: &str| {
        let message = format!(
            "Operation cannot be fulfilled on {} {name:?}: the {what} in the precondition \
             ({given}) does not match the {what} in record ({actual}). The object might have been \
             {advice}",
            resource.group_kind()
        );
        let details = Details {
            name: name.to_owned(),
            group: resource.group.to_owned(),
            kind: resource.kind.to_owned(),
            ..Details::default()
        };
        Status::new(409, "Conflict", message).with_details(details)
    };
    let uid = text(current, "uid");
    if let Some(given) = options.uid.as_deref().filter(|it| *it != uid) {
        return Err(fault("UID", given, uid, "deleted and then recreated"));
    }
    let version = text(current, "resourceVersion");
    if let Some(given) = options.resource_version.as_deref().filter(|it| *it != version) {
        return Err(fault("ResourceVersion", given, version, "modified"));
    }
    Ok(())
}
