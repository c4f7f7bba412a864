//! Where objects of a kind are served.

pub use loadmaster_framework::Kind;

/// Which objects of a kind are looked at, as an encoded query; a pod that has finished uses nothing
/// any more (upstream: `NewInformerFactory`).
pub(crate) fn query(kind: Kind) -> &'static str {
    match kind {
        Kind::Pod => "&fieldSelector=status.phase%21%3DSucceeded%2Cstatus.phase%21%3DFailed",
        _ => "",
    }
}

/// The path of a resource, of one namespace where there is one.
pub(crate) fn resource_path(api_version: &str, plural: &str, namespace: &str) -> String {
    let root = if api_version.contains('/') { "apis" } else { "api" };
    if namespace.is_empty() {
        format!("/{root}/{api_version}/{plural}")
    } else {
        format!("/{root}/{api_version}/namespaces/{namespace}/{plural}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_those_of_the_api() {
        let path = |it: Kind| resource_path(it.api_version(), it.plural(), "");
        assert_eq!(path(Kind::Node), "/api/v1/nodes");
        assert_eq!(path(Kind::CsiNode), "/apis/storage.k8s.io/v1/csinodes");
        assert_eq!(resource_path("v1", "pods", "web"), "/api/v1/namespaces/web/pods");
    }
}
