//! The claims of a pod, and what stands behind a resource's name.

use loadmaster_framework::{
    Listers, Object, RawObject,
    api::{
        Pod, PodRequestOptions, PodResourceClaim, Text, is_dra_extended_resource_name, pod_requests,
    },
};
use serde_json::Value;

/// The name of a claim, and whether it was made for the pod.
#[derive(Clone, Copy, Debug)]
pub(super) struct ClaimName<'a> {
    name: &'a Text,
    made_for_pod: bool,
}

/// The names of the pod's claims (upstream: `resourceclaim.Name`); an entry for which no claim is
/// needed has none. Errors are upstream's texts.
pub(super) fn names(pod: &Pod) -> impl Iterator<Item = Result<Option<ClaimName<'_>>, String>> {
    pod.spec.resource_claims.iter().map(|it| name(pod, it))
}

fn name<'a>(pod: &'a Pod, claim: &'a PodResourceClaim) -> Result<Option<ClaimName<'a>>, String> {
    let (namespace, pod_name) = (pod.namespace(), pod.name());
    if let Some(name) = &claim.resource_claim_name {
        return Ok(Some(ClaimName { name, made_for_pod: false }));
    }
    if claim.resource_claim_template_name.is_none() {
        return Err(format!(
            "pod \"{namespace}/{pod_name}\", spec.resourceClaim {:?}: none of the supported fields \
             are set",
            &*claim.name
        ));
    }
    let mut made = pod.status.resource_claim_statuses.iter();
    match made.find(|it| it.name == claim.name) {
        Some(made) => {
            Ok(made.resource_claim_name.as_ref().map(|name| ClaimName { name, made_for_pod: true }))
        }
        None => Err(format!("pod \"{namespace}/{pod_name}\": ResourceClaim not created yet")),
    }
}

/// The pod's claims, if all of them are there and fit to be used. Errors are upstream's texts.
pub(super) fn of_pod<'a>(pod: &Pod, listers: &'a Listers) -> Result<Vec<&'a RawObject>, String> {
    let mut claims = Vec::new();
    for name in names(pod) {
        let Some(ClaimName { name, made_for_pod }) = name? else { continue };
        let key = format!("{}/{name}", pod.namespace());
        let claim = listers.resource_claims.get(pod.namespace(), name);
        let claim: &RawObject =
            claim.ok_or_else(|| format!("could not find resourceclaim {key:?}"))?;
        if claim.metadata.deletion_timestamp.is_some() {
            return Err(format!("resourceclaim {:?} is being deleted", &**name));
        }
        let owner = claim.metadata.controller().map(|it| &it.uid);
        if made_for_pod && owner != Some(pod.uid()) {
            return Err(format!(
                "ResourceClaim {key} was not created for Pod {}/{} (Pod is not owner)",
                pod.namespace(),
                pod.name()
            ));
        }
        claims.push(claim);
    }
    Ok(claims)
}

/// Whether a change of a claim may help `pod`: one of its own was made or its status changed, or any
/// claim gave its devices back.
pub(super) fn change_helps(
    pod: &Pod,
    old: Option<&Object>,
    new: &Object,
    listers: &Listers,
) -> bool {
    let Ok(claims) = of_pod(pod, listers) else { return false };
    let part = |object: &Object, path: &[&str]| -> Value {
        let Object::ResourceClaim(claim) = object else { return Value::Null };
        let status = claim.body.get("status").cloned().unwrap_or_default();
        path.iter().fold(status, |value, key| value.get(*key).cloned().unwrap_or_default())
    };
    let allocated = |object: &Object| !part(object, &["allocation"]).is_null();
    if old.is_some_and(allocated) && !allocated(new) {
        return true;
    }
    let own = claims.iter().any(|it| it.metadata.uid == new.metadata().uid);
    own && old.is_none_or(|it| part(it, &[]) != part(new, &[]))
}

/// A resource that the pod asks for and the class of devices that stands for it, if one does: by its
/// `extendedResourceName`, or by its own name (KEP-5004).
pub(super) fn device_class_resource(pod: &Pod, listers: &Listers) -> Option<(Text, Text)> {
    if listers.device_classes.is_empty() {
        return None;
    }
    let class_of = |resource: &str| {
        let stands_for = |class: &RawObject| {
            let named = class.body.get("spec").and_then(|it| it.get("extendedResourceName"));
            named.and_then(Value::as_str) == Some(resource)
                || resource.strip_prefix(DEVICE_CLASS_PREFIX) == Some(&*class.metadata.name)
        };
        let class = listers.device_classes.iter().find(|it| stands_for(it))?;
        Some(class.metadata.name.clone())
    };
    let requests = pod_requests(pod, &PodRequestOptions::default());
    let asked = requests.iter().filter(|(_, amount)| !amount.is_zero());
    let mut asked = asked.filter(|(name, _)| is_dra_extended_resource_name(name));
    asked.find_map(|(name, _)| Some((name.clone(), class_of(name)?)))
}

const DEVICE_CLASS_PREFIX: &str = "deviceclass.resource.kubernetes.io/";
