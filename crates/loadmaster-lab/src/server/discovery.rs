//! Discovery: what is served, in the aggregated form that kubectl asks for and in the plain one.

use std::sync::LazyLock;

use http::HeaderValue;
use http::header::{CACHE_CONTROL, VARY};
use serde_json::{Value, json};

use super::respond::{self, Answer};
use crate::resources::{self, RESOURCES, Resource, Subresource};

/// kubectl decides by this header and not by the body which form it got.
const AGGREGATED: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";

/// `GET /api` or `GET /apis` in the aggregated form.
pub(super) fn aggregated(core: bool) -> Answer {
    static CORE: LazyLock<String> = LazyLock::new(|| aggregated_body(true).to_string());
    static GROUPS: LazyLock<String> = LazyLock::new(|| aggregated_body(false).to_string());
    let body = if core { &*CORE } else { &*GROUPS };
    let mut answer = respond::bytes(200, AGGREGATED, body.clone().into());
    answer.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("public"));
    answer.headers_mut().insert(VARY, HeaderValue::from_static("Accept"));
    answer
}

fn aggregated_body(core: bool) -> Value {
    let served = resources::group_versions();
    let items: Vec<Value> = served
        .iter()
        .filter(|(group, _)| group.is_empty() == core)
        .map(|(group, version)| {
            let resources: Vec<Value> = of(group, version).map(aggregated_resource).collect();
            let metadata = if core { json!({}) } else { json!({"name": group}) };
            json!({"metadata": metadata, "versions": [
                {"version": version, "freshness": "Current", "resources": resources}]})
        })
        .collect();
    json!({
        "kind": "APIGroupDiscoveryList",
        "apiVersion": "apidiscovery.k8s.io/v2",
        "metadata": {},
        "items": items,
    })
}

fn aggregated_resource(resource: &Resource) -> Value {
    let mut entry = json!({
        "resource": resource.plural,
        "responseKind": {"group": "", "version": "", "kind": resource.kind},
        "scope": if resource.namespaced { "Namespaced" } else { "Cluster" },
        "singularResource": resource.singular,
        "verbs": resource.verbs.names(),
    });
    add_names(&mut entry, resource);
    let below: Vec<Value> = resource
        .subresources
        .iter()
        .map(|it| {
            let kind = json!({
                "group": it.group, "version": it.version, "kind": kind_of(resource, it)});
            json!({"subresource": it.name, "responseKind": kind, "verbs": it.verbs.names()})
        })
        .collect();
    if !below.is_empty() {
        entry["subresources"] = json!(below);
    }
    entry
}

/// `GET /api`.
pub(super) fn versions() -> Answer {
    respond::object(
        200,
        &json!({
            "kind": "APIVersions",
            "versions": ["v1"],
            "serverAddressByClientCIDRs": [],
        }),
    )
}

/// `GET /apis`.
pub(super) fn groups() -> Answer {
    let served = resources::group_versions();
    let groups: Vec<Value> = served
        .iter()
        .filter(|(group, _)| !group.is_empty())
        .map(|(group, version)| api_group(group, version))
        .collect();
    respond::object(200, &json!({"kind": "APIGroupList", "apiVersion": "v1", "groups": groups}))
}

/// `GET /apis/GROUP`, if it is served.
pub(super) fn group(name: &str) -> Option<Answer> {
    let (group, version) = resources::group_versions().into_iter().find(|it| it.0 == name)?;
    let mut body = api_group(group, version);
    body["kind"] = json!("APIGroup");
    body["apiVersion"] = json!("v1");
    Some(respond::object(200, &body))
}

fn api_group(group: &str, version: &str) -> Value {
    let version = json!({"groupVersion": format!("{group}/{version}"), "version": version});
    json!({"name": group, "versions": [version], "preferredVersion": version})
}

/// `GET /api/v1` or `GET /apis/GROUP/VERSION`, if it is served.
pub(super) fn resource_list(group: &str, version: &str) -> Option<Answer> {
    let first = of(group, version).next()?;
    let mut resources = Vec::new();
    for resource in of(group, version) {
        let mut entry = json!({
            "name": resource.plural,
            "singularName": resource.singular,
            "namespaced": resource.namespaced,
            "kind": resource.kind,
            "verbs": resource.verbs.names(),
        });
        add_names(&mut entry, resource);
        resources.push(entry);
        for below in resource.subresources {
            let mut entry = json!({
                "name": format!("{}/{}", resource.plural, below.name),
                "singularName": "",
                "namespaced": resource.namespaced,
                "kind": kind_of(resource, below),
                "verbs": below.verbs.names(),
            });
            if !below.version.is_empty() {
                entry["group"] = json!(below.group);
                entry["version"] = json!(below.version);
            }
            resources.push(entry);
        }
    }
    Some(respond::object(
        200,
        &json!({
            "kind": "APIResourceList",
            "apiVersion": "v1",
            "groupVersion": first.api_version(),
            "resources": resources,
        }),
    ))
}

fn of(group: &str, version: &str) -> impl Iterator<Item = &'static Resource> {
    RESOURCES.iter().filter(move |it| it.group == group && it.version == version)
}

fn kind_of<'a>(resource: &'a Resource, below: &'a Subresource) -> &'a str {
    if below.kind.is_empty() { resource.kind } else { below.kind }
}

fn add_names(entry: &mut Value, resource: &Resource) {
    if !resource.short_names.is_empty() {
        entry["shortNames"] = json!(resource.short_names);
    }
    if resource.in_all {
        entry["categories"] = json!(["all"]);
    }
}
