//! Which changes may give a pod the room that it lacked.

use std::sync::Arc;

use loadmaster_framework::{
    Hint, NodeInfo, Object, PluginError,
    api::{Pod, PodRequestOptions, Resource, pod_requests},
};

use super::{fits, requests};
use crate::in_tree::hint::{changed_node, former_pod, unexpected};

/// A pod went, or asks for less.
pub(super) fn pod_helps(hint: &Hint<'_>) -> Result<bool, PluginError> {
    let old = former_pod(hint)?;
    let Some(new) = hint.new.and_then(Object::as_pod) else {
        return Ok(old.node_name().is_some() || !old.status.nominated_node_name.is_empty());
    };
    if new.uid() == hint.pod.uid() {
        return Ok(true);
    }
    if new.node_name().is_none() {
        return Ok(false);
    }
    let options = PodRequestOptions::on_node();
    let on_node = |pod: &Pod| {
        let mut amounts = Resource::default();
        amounts.set_max_list(&pod_requests(pod, &options));
        amounts
    };
    let (before, after) = (on_node(old), on_node(new));
    let wanted = pod_requests(hint.pod, &options);
    let mut names = wanted.iter().filter(|(_, amount)| !amount.is_zero());
    Ok(names.any(|(name, _)| before.get(name) > after.get(name)))
}

/// A node came on which the pod fits, or one grew in something that the pod asks for.
pub(super) fn node_helps(hint: &Hint<'_>) -> Result<bool, PluginError> {
    let (old, new) = changed_node(hint)?;
    let (wanted, new) = (requests(hint.pod), NodeInfo::new(Arc::clone(new)));
    if fits(&wanted, &new).is_err() {
        return Ok(false);
    }
    let Some(old) = old else { return Ok(true) };
    let (before, after) =
        (Resource::from_resource_list(&old.status.allocatable), new.allocatable());
    let grew = |wanted: i128, before: i128, after: i128| wanted > 0 && after > before;
    let scalar_grew = || {
        let mut asked = wanted.scalars().iter().filter(|(_, amount)| *amount != 0);
        asked.any(|(name, _)| after.scalar(name) > before.scalar(name))
    };
    Ok(after.allowed_pod_number > before.allowed_pod_number
        || grew(wanted.milli_cpu, before.milli_cpu, after.milli_cpu)
        || grew(wanted.memory, before.memory, after.memory)
        || grew(wanted.ephemeral_storage, before.ephemeral_storage, after.ephemeral_storage)
        || scalar_grew())
}

/// A class of devices took on the name of a resource that the pod asks for.
pub(super) fn device_class_helps(hint: &Hint<'_>) -> Result<bool, PluginError> {
    fn name_of(object: &Object) -> Option<&str> {
        let Object::DeviceClass(class) = object else { return None };
        class.body.get("spec")?.get("extendedResourceName")?.as_str()
    }
    let new = hint.new.ok_or_else(|| unexpected("device class"))?;
    let wanted = pod_requests(hint.pod, &PodRequestOptions::default());
    match hint.old {
        Some(old) if name_of(old).unwrap_or("") == name_of(new).unwrap_or("") => return Ok(false),
        None => {
            let implicit = format!("deviceclass.resource.kubernetes.io/{}", new.metadata().name);
            if wanted.contains_key(&implicit) {
                return Ok(true);
            }
        }
        Some(_) => {}
    }
    Ok(name_of(new).is_some_and(|name| wanted.contains_key(name)))
}
