//! Roles and bindings.
//!
//! Source: `pkg/apis/rbac/validation` 1.36.

use serde_json::{Value, json};

use super::selectors::label_selector;
use super::{items, names, text};
use crate::resources::{Collection, Resource};
use crate::status::FieldError;

const GROUP: &str = "rbac.authorization.k8s.io";

/// The faults of a role, a cluster role or a binding of one.
pub(super) fn validate(resource: &Resource, object: &Value) -> Vec<FieldError> {
    match resource.collection {
        Collection::ROLES | Collection::CLUSTER_ROLES => role(object, resource.namespaced),
        _ => binding(object, resource.namespaced),
    }
}

/// The faults of a changed one.
pub(super) fn validate_update(resource: &Resource, old: &Value, new: &Value) -> Vec<FieldError> {
    let mut errors = validate(resource, new);
    if old.get("roleRef") != new.get("roleRef") {
        // As Go prints it: by the names of its fields.
        let given = &new["roleRef"];
        let shown = json!({"APIGroup": text(given, "apiGroup"), "Kind": text(given, "kind"),
            "Name": text(given, "name")});
        errors.push(FieldError::invalid("roleRef", &shown, "cannot change roleRef"));
    }
    errors
}

fn role(role: &Value, namespaced: bool) -> Vec<FieldError> {
    let mut errors = Vec::new();
    for (index, rule) in items(&role["rules"]) {
        errors.extend(policy_rule(rule, namespaced, &format!("rules[{index}]")));
    }
    let aggregation = &role["aggregationRule"];
    if namespaced || aggregation.is_null() {
        return errors;
    }
    let field = "aggregationRule.clusterRoleSelectors";
    if items(&aggregation["clusterRoleSelectors"]).next().is_none() {
        let detail = "at least one clusterRoleSelector required if aggregationRule is non-nil";
        errors.push(FieldError::required(field, detail));
    }
    for (index, selector) in items(&aggregation["clusterRoleSelectors"]) {
        errors.extend(label_selector(selector, &format!("{field}[{index}]")));
    }
    errors
}

fn policy_rule(rule: &Value, namespaced: bool, field: &str) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let is_empty = |member: &str| items(&rule[member]).next().is_none();
    let at = |member: &str| format!("{field}.{member}");
    if is_empty("verbs") {
        let detail = "verbs must contain at least one value";
        errors.push(FieldError::required(at("verbs"), detail));
    }
    if !is_empty("nonResourceURLs") {
        let (field, urls) = (at("nonResourceURLs"), &rule["nonResourceURLs"]);
        if namespaced {
            let detail = "namespaced rules cannot apply to non-resource URLs";
            errors.push(FieldError::invalid(field.clone(), urls, detail));
        }
        if !["apiGroups", "resources", "resourceNames"].into_iter().all(is_empty) {
            let detail = "rules cannot apply to both regular resources and non-resource URLs";
            errors.push(FieldError::invalid(field, urls, detail));
        }
        return errors;
    }
    for (member, detail) in [
        ("apiGroups", "resource rules must supply at least one api group"),
        ("resources", "resource rules must supply at least one resource"),
    ] {
        if is_empty(member) {
            errors.push(FieldError::required(at(member), detail));
        }
    }
    errors
}

fn binding(binding: &Value, namespaced: bool) -> Vec<FieldError> {
    let reference = &binding["roleRef"];
    let mut errors = Vec::new();
    if text(reference, "apiGroup") != GROUP {
        let given = json!(text(reference, "apiGroup"));
        errors.push(FieldError::not_supported("roleRef.apiGroup", &given, &[GROUP]));
    }
    let kinds: &[&str] = if namespaced { &["Role", "ClusterRole"] } else { &["ClusterRole"] };
    if !kinds.contains(&text(reference, "kind")) {
        let given = json!(text(reference, "kind"));
        errors.push(FieldError::not_supported("roleRef.kind", &given, kinds));
    }
    let name = text(reference, "name");
    if name.is_empty() {
        errors.push(FieldError::required("roleRef.name", ""));
    }
    for fault in names::path_segment(name) {
        errors.push(FieldError::invalid("roleRef.name", &json!(name), &fault));
    }
    for (index, subject) in items(&binding["subjects"]) {
        errors.extend(self::subject(subject, namespaced, &format!("subjects[{index}]")));
    }
    errors
}

fn subject(subject: &Value, namespaced: bool, field: &str) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let (name, kind, group) =
        (text(subject, "name"), text(subject, "kind"), text(subject, "apiGroup"));
    if name.is_empty() {
        errors.push(FieldError::required(format!("{field}.name"), ""));
    }
    let group_must_be = |wanted: &str| {
        let supported = [wanted];
        (group != wanted).then(|| {
            FieldError::not_supported(format!("{field}.apiGroup"), &json!(group), &supported)
        })
    };
    match kind {
        "ServiceAccount" => {
            if !name.is_empty() {
                for fault in names::subdomain(name) {
                    errors.push(FieldError::invalid(format!("{field}.name"), &json!(name), &fault));
                }
            }
            errors.extend(group_must_be(""));
            if !namespaced && text(subject, "namespace").is_empty() {
                errors.push(FieldError::required(format!("{field}.namespace"), ""));
            }
        }
        "User" | "Group" => errors.extend(group_must_be(GROUP)),
        _ => {
            let kinds = ["ServiceAccount", "User", "Group"];
            let field = format!("{field}.kind");
            errors.push(FieldError::not_supported(field, &json!(kind), &kinds));
        }
    }
    errors
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(collection: Collection, object: &Value) -> Vec<String> {
        let errors = validate(collection.resource(), object);
        errors.iter().map(|it| format!("{}: {}", it.field, it.body)).collect()
    }

    #[test]
    fn a_rule_is_about_resources_or_about_paths() {
        let role = json!({"rules": [
            {"verbs": ["get"], "apiGroups": [""], "resources": ["pods"]},
            {"verbs": []},
            {"verbs": ["get"], "nonResourceURLs": ["/x"], "resources": ["pods"]}]});
        let both = "rules[2].nonResourceURLs: Invalid value: [\"/x\"]: rules cannot apply to both \
                    regular resources and non-resource URLs";
        let empty = [
            "rules[1].verbs: Required value: verbs must contain at least one value",
            "rules[1].apiGroups: Required value: resource rules must supply at least one api group",
            "rules[1].resources: Required value: resource rules must supply at least one resource",
        ];
        assert_eq!(shown(Collection::CLUSTER_ROLES, &role), [&empty[..], &[both]].concat());
        let namespaced = "rules[2].nonResourceURLs: Invalid value: [\"/x\"]: namespaced rules \
                          cannot apply to non-resource URLs";
        assert_eq!(shown(Collection::ROLES, &role), [&empty[..], &[namespaced, both]].concat());
    }

    #[test]
    fn a_binding_names_a_role_and_known_subjects() {
        let binding = json!({"roleRef": {"apiGroup": GROUP, "kind": "Role", "name": "r"},
            "subjects": [{"kind": "ServiceAccount", "name": "a"},
                {"kind": "User", "name": "eve", "apiGroup": "x"}, {"kind": "Robot", "name": "b"}]});
        let group = format!(
            "subjects[1].apiGroup: Unsupported value: \"x\": supported values: \"{GROUP}\""
        );
        let kind = "subjects[2].kind: Unsupported value: \"Robot\": supported values: \
                    \"ServiceAccount\", \"User\", \"Group\"";
        assert_eq!(shown(Collection::ROLE_BINDINGS, &binding), [group.as_str(), kind]);
        let role = "roleRef.kind: Unsupported value: \"Role\": supported values: \"ClusterRole\"";
        let namespace = "subjects[0].namespace: Required value";
        assert_eq!(
            shown(Collection::CLUSTER_ROLE_BINDINGS, &binding),
            [role, namespace, group.as_str(), kind]
        );
    }

    #[test]
    fn a_binding_keeps_its_role() {
        let bound =
            |name: &str| json!({"roleRef": {"apiGroup": GROUP, "kind": "Role", "name": name}});
        let resource = Collection::ROLE_BINDINGS.resource();
        let errors = validate_update(resource, &bound("a"), &bound("b"));
        assert_eq!(errors.len(), 1);
        let shown = format!("{{\"APIGroup\":\"{GROUP}\",\"Kind\":\"Role\",\"Name\":\"b\"}}");
        assert_eq!(errors[0].body, format!("Invalid value: {shown}: cannot change roleRef"));
        assert!(validate_update(resource, &bound("a"), &bound("a")).is_empty());
    }
}
