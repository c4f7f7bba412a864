//! From a path to what it means.

use crate::resources::{self, Resource};

/// What a path names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Route {
    /// All objects of a kind, or those of one namespace.
    Collection {
        /// The kind.
        resource: &'static Resource,
        /// The namespace, if the path has one.
        namespace: Option<String>,
        /// Whether this is the deprecated watch path.
        watch: bool,
    },
    /// One object or something below it.
    Object {
        /// The kind.
        resource: &'static Resource,
        /// The namespace, empty for cluster-scoped kinds.
        namespace: String,
        /// The name.
        name: String,
        /// The subresource; empty is the object itself.
        subresource: String,
    },
    /// A served group version without such a resource.
    UnknownResource,
    /// No API path: discovery, health, or nothing at all.
    Other(Vec<String>),
}

/// Reads a path.
pub(super) fn route(path: &str) -> Route {
    let segments: Vec<String> =
        path.split('/').filter(|it| !it.is_empty()).map(percent_decoded).collect();
    let parts: Vec<&str> = segments.iter().map(String::as_str).collect();
    let (group, version, rest) = match parts.as_slice() {
        ["api", version, rest @ ..] if !rest.is_empty() => ("", *version, rest),
        ["apis", group, version, rest @ ..] if !rest.is_empty() => (*group, *version, rest),
        _ => return Route::Other(segments),
    };
    if !resources::group_versions().contains(&(group, version)) {
        return Route::Other(segments);
    }
    match rest {
        ["watch", rest @ ..] => resource_route(group, version, rest, true),
        rest => resource_route(group, version, rest, false),
    }
    .unwrap_or(Route::UnknownResource)
}

fn resource_route(group: &str, version: &str, rest: &[&str], watch: bool) -> Option<Route> {
    if let ["namespaces", namespace, plural, rest @ ..] = rest
        && let Some(resource) =
            resources::by_path(group, version, plural).filter(|it| it.namespaced)
    {
        return below(resource, Some(namespace), rest, watch);
    }
    let [plural, rest @ ..] = rest else { return None };
    let resource = resources::by_path(group, version, plural)?;
    if resource.namespaced && !rest.is_empty() {
        return None;
    }
    below(resource, None, rest, watch)
}

fn below(
    resource: &'static Resource,
    namespace: Option<&str>,
    rest: &[&str],
    watch: bool,
) -> Option<Route> {
    let object = |name: &str, subresource: &str| Route::Object {
        resource,
        namespace: namespace.unwrap_or_default().to_owned(),
        name: name.to_owned(),
        subresource: subresource.to_owned(),
    };
    match rest {
        [] => Some(Route::Collection { resource, namespace: namespace.map(str::to_owned), watch }),
        [name] => Some(object(name, "")),
        [name, subresource] if resource.subresource(subresource).is_some() => {
            Some(object(name, subresource))
        }
        _ => None,
    }
}

/// Replaces `%41` by `A`; what is no such escape stays as it is.
pub(super) fn percent_decoded(segment: &str) -> String {
    let bytes = segment.as_bytes();
    let mut decoded = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        let escaped = bytes.get(at + 1..at + 3).and_then(|it| std::str::from_utf8(it).ok());
        match escaped.and_then(|it| u8::from_str_radix(it, 16).ok()) {
            Some(value) if *byte == b'%' => {
                decoded.push(value);
                at += 3;
            }
            _ => {
                decoded.push(*byte);
                at += 1;
            }
        }
    }
    String::from_utf8_lossy(&decoded).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(path: &str) -> String {
        match route(path) {
            Route::Collection { resource, namespace, watch } => {
                let namespace = namespace.as_deref().unwrap_or("*");
                format!(
                    "{namespace}/{}{}",
                    resource.group_resource(),
                    if watch { " watch" } else { "" }
                )
            }
            Route::Object { resource, namespace, name, subresource } => {
                format!("{namespace}/{}/{name}:{subresource}", resource.group_resource())
            }
            Route::UnknownResource => "unknown".to_owned(),
            Route::Other(_) => "other".to_owned(),
        }
    }

    #[test]
    fn every_form_of_path_is_understood() {
        for (path, meaning) in [
            ("/api/v1/pods", "*/pods"),
            ("/api/v1/namespaces/ns/pods", "ns/pods"),
            ("/api/v1/namespaces/ns/pods/p", "ns/pods/p:"),
            ("/api/v1/namespaces/ns/pods/p/binding", "ns/pods/p:binding"),
            ("/api/v1/namespaces", "*/namespaces"),
            ("/api/v1/namespaces/ns", "/namespaces/ns:"),
            ("/api/v1/namespaces/ns/finalize", "/namespaces/ns:finalize"),
            ("/api/v1/nodes/n%3A1/status", "/nodes/n:1:status"),
            ("/apis/apps/v1/namespaces/ns/deployments/d/scale", "ns/deployments.apps/d:scale"),
            ("/api/v1/watch/namespaces/ns/pods", "ns/pods watch"),
            ("/api/v1/namespaces/ns/widgets", "unknown"),
            ("/api/v1/pods/p", "unknown"),
            ("/api/v1/namespaces/ns/pods/p/nonsense", "unknown"),
            ("/apis/example.com/v1/widgets", "other"),
            ("/api/v1", "other"),
            ("/nope", "other"),
        ] {
            assert_eq!(shown(path), meaning, "{path}");
        }
    }
}
