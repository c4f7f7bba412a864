//! One rule of a role.

use serde_json::Value;

use crate::auth::attributes::{Attributes, ResourceTarget, Target};
use crate::values::list;

/// What every list of a rule means by it.
const ALL: &str = "*";

/// A rule of a role, as it is stored.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rule<'a>(pub(crate) &'a Value);

impl<'a> Rule<'a> {
    /// The texts of one of its lists.
    pub(crate) fn texts(self, member: &str) -> impl Iterator<Item = &'a str> + use<'a> {
        let items = self.0.get(member).and_then(Value::as_array);
        items.map(Vec::as_slice).unwrap_or_default().iter().filter_map(Value::as_str)
    }

    /// Whether the rule allows this.
    pub(crate) fn allows(self, what: &Attributes) -> bool {
        if !self.names("verbs", &what.verb) {
            return false;
        }
        match &what.target {
            Target::Resource(target) => self.allows_on(target),
            Target::Path(path) => {
                self.texts("nonResourceURLs").any(|it| it == ALL || covers_path(it, path))
            }
        }
    }

    fn allows_on(self, target: &ResourceTarget) -> bool {
        let combined = target.combined();
        let below = (!target.subresource.is_empty()).then(|| format!("*/{}", target.subresource));
        let resource = |it: &str| it == ALL || it == combined || below.as_deref() == Some(it);
        let named = list(self.0, "/resourceNames").is_empty()
            || self.texts("resourceNames").any(|it| it == target.name);
        named && self.names("apiGroups", &target.group) && self.texts("resources").any(resource)
    }

    /// Whether a list holds the word, or all of them.
    pub(super) fn names(self, member: &str, word: &str) -> bool {
        self.texts(member).any(|it| it == ALL || it == word)
    }
}

/// Whether a rule's URL, which may end in `*`, is or begins this path.
pub(super) fn covers_path(url: &str, path: &str) -> bool {
    url == path || (url.ends_with(ALL) && path.starts_with(url.trim_end_matches('*')))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Whether a rule allows `verb group resource/subresource name`.
    fn allows(rule: &Value, verb: &str, group: &str, resource: &str, name: &str) -> bool {
        let (resource, subresource) = resource.split_once('/').unwrap_or((resource, ""));
        let target = ResourceTarget {
            group: group.to_owned(),
            resource: resource.to_owned(),
            subresource: subresource.to_owned(),
            name: name.to_owned(),
            ..ResourceTarget::default()
        };
        Rule(rule).allows(&Attributes::on(verb, target))
    }

    #[test]
    fn verb_group_and_resource_must_all_be_named() {
        let rule =
            json!({"verbs": ["get", "list"], "apiGroups": ["", "apps"], "resources": ["pods"]});
        assert!(allows(&rule, "get", "", "pods", "x"));
        assert!(allows(&rule, "list", "apps", "pods", ""));
        assert!(!allows(&rule, "watch", "", "pods", ""));
        assert!(!allows(&rule, "get", "batch", "pods", "x"));
        assert!(!allows(&rule, "get", "", "nodes", "x"));
        let all = json!({"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]});
        assert!(allows(&all, "impersonate", "any", "thing/below", "x"));
        assert!(
            !Rule(&all).allows(&Attributes {
                verb: "get".into(),
                target: Target::Path("/metrics".into())
            })
        );
    }

    #[test]
    fn a_subresource_is_named_with_its_parent_or_by_itself() {
        let rule =
            |resources: Value| json!({"verbs": ["*"], "apiGroups": [""], "resources": resources});
        assert!(!allows(&rule(json!(["pods"])), "patch", "", "pods/status", "x"));
        assert!(allows(&rule(json!(["pods/status"])), "patch", "", "pods/status", "x"));
        assert!(!allows(&rule(json!(["pods/status"])), "patch", "", "pods", "x"));
        assert!(allows(&rule(json!(["*/status"])), "patch", "", "pods/status", "x"));
        assert!(!allows(&rule(json!(["*/status"])), "patch", "", "pods/log", "x"));
        assert!(!allows(&rule(json!(["pods/*"])), "patch", "", "pods/status", "x"));
    }

    #[test]
    fn resource_names_hold_for_requests_that_name_an_object() {
        let rule = json!({"verbs": ["get", "list", "create"], "apiGroups": ["coordination.k8s.io"],
            "resources": ["leases"], "resourceNames": ["mine"]});
        let group = "coordination.k8s.io";
        assert!(allows(&rule, "get", group, "leases", "mine"));
        assert!(!allows(&rule, "get", group, "leases", "other"));
        // Neither a create nor a plain list names an object.
        assert!(!allows(&rule, "create", group, "leases", ""));
        assert!(!allows(&rule, "list", group, "leases", ""));
    }

    #[test]
    fn paths_match_whole_or_by_their_beginning() {
        let rule = json!({"verbs": ["get"], "nonResourceURLs": ["/healthz", "/apis/*"]});
        let allows = |path: &str| {
            let target = Target::Path(path.to_owned());
            Rule(&rule).allows(&Attributes { verb: "get".into(), target })
        };
        assert!(allows("/healthz") && allows("/apis/apps/v1") && allows("/apis/"));
        assert!(!allows("/healthz/ping") && !allows("/apis"));
    }
}
