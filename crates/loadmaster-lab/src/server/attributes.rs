//! What a request wants to do, read from its method and path alone: also for kinds that are not
//! served, since who may not ask is not told what there is.
//!
//! Source: `pkg/endpoints/request/requestinfo.go` of apiserver 1.36.

use http::Method;

use super::query::Query;
use super::route::percent_decoded;
use crate::auth::{Attributes, ResourceTarget, Target};

/// The verb and its target.
pub(super) fn attributes(method: &Method, path: &str, query: &Query) -> Attributes {
    let segments: Vec<String> =
        path.split('/').filter(|it| !it.is_empty()).map(percent_decoded).collect();
    let parts: Vec<&str> = segments.iter().map(String::as_str).collect();
    match parts.as_slice() {
        ["api", _, rest @ ..] if !rest.is_empty() => resource(method, "", rest, query),
        ["apis", group, _, rest @ ..] if !rest.is_empty() => resource(method, group, rest, query),
        _ => Attributes {
            verb: method.as_str().to_lowercase(),
            target: Target::Path(path.to_owned()),
        },
    }
}

fn resource(method: &Method, group: &str, parts: &[&str], query: &Query) -> Attributes {
    let (mut verb, parts) = match parts {
        ["watch", rest @ ..] if !rest.is_empty() => ("watch", rest),
        parts => (verb_of(method), parts),
    };
    let (namespace, parts) = match parts {
        ["namespaces", namespace, below, ..] if !["status", "finalize"].contains(below) => {
            (*namespace, &parts[2..])
        }
        ["namespaces", namespace, ..] => (*namespace, parts),
        parts => ("", parts),
    };
    let part = |index: usize| parts.get(index).copied().unwrap_or_default();
    let mut name = part(1).to_owned();
    if name.is_empty() && verb == "get" {
        verb = if query.flag("watch") == Some(true) { "watch" } else { "list" };
    }
    if name.is_empty() && ["list", "watch"].contains(&verb) {
        // A list of one object is allowed to whom a rule names that object.
        only_name(query.get("fieldSelector")).clone_into(&mut name);
    }
    if name.is_empty() && verb == "delete" {
        verb = "deletecollection";
    }
    let target = ResourceTarget {
        group: group.to_owned(),
        resource: part(0).to_owned(),
        subresource: part(2).to_owned(),
        namespace: namespace.to_owned(),
        name,
    };
    Attributes::on(verb, target)
}

fn verb_of(method: &Method) -> &'static str {
    match method.as_str() {
        "POST" => "create",
        "GET" | "HEAD" => "get",
        "PUT" => "update",
        "PATCH" => "patch",
        "DELETE" => "delete",
        _ => "",
    }
}

/// The name in a field selector that demands one.
fn only_name(selector: &str) -> &str {
    let term = selector.split(',').find_map(|it| it.trim().strip_prefix("metadata.name="));
    let name = term.map(|it| it.trim_start_matches('=')).unwrap_or_default();
    if name.contains(['/', '%']) { "" } else { name }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(method: &str, path: &str) -> String {
        let uri: http::Uri = path.parse().unwrap();
        let what = attributes(&method.parse().unwrap(), uri.path(), &Query::of(&uri));
        match what.target {
            Target::Path(path) => format!("{} {path}", what.verb),
            Target::Resource(target) => format!(
                "{} {}:{} in {}: {}",
                what.verb,
                target.group,
                target.combined(),
                target.namespace,
                target.name
            ),
        }
    }

    #[test]
    fn method_and_path_say_what_is_done_to_what() {
        for (method, path, meaning) in [
            ("GET", "/api/v1/pods", "list :pods in : "),
            ("GET", "/api/v1/pods?watch=true", "watch :pods in : "),
            ("GET", "/api/v1/watch/namespaces/ns/pods", "watch :pods in ns: "),
            ("GET", "/api/v1/namespaces/ns/pods/p", "get :pods in ns: p"),
            ("POST", "/api/v1/namespaces/ns/pods/p/binding", "create :pods/binding in ns: p"),
            (
                "PATCH",
                "/apis/apps/v1/namespaces/ns/deployments/d/scale",
                "patch apps:deployments/scale in ns: d",
            ),
            ("DELETE", "/api/v1/namespaces/ns/pods", "deletecollection :pods in ns: "),
            ("DELETE", "/api/v1/namespaces/ns", "delete :namespaces in ns: ns"),
            ("PUT", "/api/v1/namespaces/ns/finalize", "update :namespaces/finalize in ns: ns"),
            ("GET", "/api/v1/namespaces", "list :namespaces in : "),
            ("GET", "/apis/example.com/v1/widgets/w", "get example.com:widgets in : w"),
            (
                "GET",
                "/api/v1/configmaps?fieldSelector=metadata.name%3Da&watch=1",
                "watch :configmaps in : a",
            ),
            ("GET", "/apis/apps/v1", "get /apis/apps/v1"),
            ("GET", "/healthz", "get /healthz"),
            ("POST", "/api", "post /api"),
        ] {
            assert_eq!(shown(method, path), meaning, "{method} {path}");
        }
    }
}
