//! Nobody hands out what he does not have.
//!
//! Source: `pkg/registry/rbac/validation` and `component-helpers/auth/rbac/validation` 1.36.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::{Value, json};

use super::rules::{Rule, covers_path};
use super::{User, authorize, role_of, rules_for};
use crate::auth::attributes::{Attributes, ResourceTarget};
use crate::resources::Resource;
use crate::status::Status;
use crate::store::{Store, text};
use crate::values::list;

const GROUP: &str = "rbac.authorization.k8s.io";

/// Whether objects of this kind hand out rights.
pub(crate) fn grants_rights(resource: &Resource) -> bool {
    resource.group == GROUP
}

/// Refuses to write a role with rights, or to bind one, that the user does not have in the
/// namespace (empty for the whole cluster), unless he may `escalate` or `bind` that role. Objects of
/// other kinds pass.
///
/// # Errors
/// 403 with what is missing, 404 for a role that is bound and does not exist.
pub(crate) fn check_grant(
    store: &Store,
    user: &User,
    resource: &Resource,
    namespace: &str,
    object: &Value,
) -> Result<(), Status> {
    if !grants_rights(resource) || user.is_master() {
        return Ok(());
    }
    let reference = object.get("roleRef");
    let (verb, plural, name) = match reference {
        Some(reference) => {
            let plural = if reference["kind"] == "Role" { "roles" } else { "clusterroles" };
            ("bind", plural, reference["name"].as_str().unwrap_or_default())
        }
        None => ("escalate", resource.plural, text(object, "name")),
    };
    let target = ResourceTarget {
        group: GROUP.to_owned(),
        resource: plural.to_owned(),
        namespace: namespace.to_owned(),
        name: name.to_owned(),
        ..ResourceTarget::default()
    };
    if authorize(store, user, &Attributes::on(verb, target)).allowed {
        return Ok(());
    }
    let wanted = match reference {
        Some(reference) => {
            role_of(store, reference, namespace).map_err(|_| Status::not_found(resource, name))?
        }
        None => Arc::new(object.clone()),
    };
    confirm_held(store, user, namespace, list(&wanted, "/rules"))
        .map_err(|missing| Status::forbidden(resource, text(object, "name"), &missing))
}

fn confirm_held(
    store: &Store,
    user: &User,
    namespace: &str,
    wanted: &[Value],
) -> Result<(), String> {
    let (held, faults) = rules_for(store, user, namespace);
    let missing: Vec<Value> = wanted
        .iter()
        .flat_map(|it| atoms(Rule(it)))
        .filter(|atom| !held.iter().any(|it| covers(Rule(it), Rule(atom))))
        .collect();
    if missing.is_empty() {
        return Ok(());
    }
    let texts: BTreeSet<String> = compact(missing).iter().map(|it| shown(Rule(it))).collect();
    let texts: Vec<String> = texts.into_iter().collect();
    let groups: Vec<String> = user.groups.iter().map(|it| format!("{it:?}")).collect();
    let mut message = format!(
        "user {:?} (groups=[{}]) is attempting to grant RBAC permissions not currently held:\n{}",
        user.name,
        groups.join(" "),
        texts.join("\n")
    );
    if !faults.is_empty() {
        message = format!("{message}; resolution errors: [{}]", faults.join(", "));
    }
    Err(message)
}

/// The rule as rules of one verb, one resource and one name each.
fn atoms(rule: Rule<'_>) -> Vec<Value> {
    let mut atoms = Vec::new();
    for verb in rule.texts("verbs") {
        for url in rule.texts("nonResourceURLs") {
            atoms.push(json!({"verbs": [verb], "nonResourceURLs": [url]}));
        }
    }
    for group in rule.texts("apiGroups") {
        for resource in rule.texts("resources") {
            for verb in rule.texts("verbs") {
                let atom = json!({"verbs": [verb], "apiGroups": [group], "resources": [resource]});
                let mut named = rule.texts("resourceNames").peekable();
                if named.peek().is_none() {
                    atoms.push(atom);
                    continue;
                }
                for name in named {
                    let mut atom = atom.clone();
                    atom["resourceNames"] = json!([name]);
                    atoms.push(atom);
                }
            }
        }
    }
    atoms
}

/// Whether one rule allows all that an atom allows.
fn covers(owner: Rule<'_>, atom: Rule<'_>) -> bool {
    let resource = |it: &str| {
        let below = it.split_once('/').map(|(_, below)| format!("*/{below}"));
        owner.names("resources", it)
            || below.is_some_and(|below| owner.texts("resources").any(|it| it == below))
    };
    let named = owner.texts("resourceNames").next().is_some();
    let mut names = atom.texts("resourceNames").peekable();
    let names_match = if names.peek().is_none() {
        !named
    } else {
        !named || names.all(|name| owner.texts("resourceNames").any(|it| it == name))
    };
    names_match
        && atom.texts("verbs").all(|it| owner.names("verbs", it))
        && atom.texts("apiGroups").all(|it| owner.names("apiGroups", it))
        && atom.texts("resources").all(resource)
        && atom
            .texts("nonResourceURLs")
            .all(|path| owner.texts("nonResourceURLs").any(|it| covers_path(it, path)))
}

/// Rules of one group and resource that differ in their verb alone become one.
fn compact(atoms: Vec<Value>) -> Vec<Value> {
    let mut compact: Vec<Value> = Vec::new();
    for atom in atoms {
        let is_same = |it: &&mut Value| {
            list(&atom, "/nonResourceURLs").is_empty()
                && ["apiGroups", "resources", "resourceNames"].iter().all(|m| it[*m] == atom[*m])
        };
        match compact.iter_mut().find(is_same) {
            Some(rule) => {
                if let (Some(verbs), Some(more)) =
                    (rule["verbs"].as_array_mut(), atom["verbs"].as_array())
                {
                    verbs.extend(more.iter().cloned());
                }
            }
            None => compact.push(atom),
        }
    }
    compact
}

fn shown(rule: Rule<'_>) -> String {
    let parts: Vec<String> = [
        ("APIGroups", "apiGroups"),
        ("Resources", "resources"),
        ("NonResourceURLs", "nonResourceURLs"),
        ("ResourceNames", "resourceNames"),
        ("Verbs", "verbs"),
    ]
    .into_iter()
    .filter_map(|(title, member)| {
        let words: Vec<String> = rule.texts(member).map(|it| format!("{it:?}")).collect();
        (!words.is_empty()).then(|| format!("{title}:[{}]", words.join(" ")))
    })
    .collect();
    format!("{{{}}}", parts.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rule_covers_an_atom_by_stars_subresources_and_names() {
        let owner =
            json!({"verbs": ["get", "list"], "apiGroups": ["*"], "resources": ["pods", "*/scale"]});
        let covered = |atom: Value| covers(Rule(&owner), Rule(&atom));
        assert!(covered(json!({"verbs": ["get"], "apiGroups": ["x"], "resources": ["pods"]})));
        assert!(covered(
            json!({"verbs": ["get"], "apiGroups": [""], "resources": ["pods"], "resourceNames": ["a"]})
        ));
        assert!(covered(json!({"verbs": ["get"], "apiGroups": [""], "resources": ["jobs/scale"]})));
        assert!(!covered(json!({"verbs": ["delete"], "apiGroups": [""], "resources": ["pods"]})));
        assert!(!covered(json!({"verbs": ["get"], "apiGroups": [""], "resources": ["pods/log"]})));
        assert!(!covered(json!({"verbs": ["get"], "nonResourceURLs": ["/metrics"]})));
        let named =
            json!({"verbs": ["*"], "apiGroups": [""], "resources": ["*"], "resourceNames": ["a"]});
        let all = json!({"verbs": ["get"], "apiGroups": [""], "resources": ["pods"]});
        assert!(!covers(Rule(&named), Rule(&all)));
    }

    #[test]
    fn what_is_missing_is_told_by_resource() {
        let rule =
            json!({"verbs": ["get", "list"], "apiGroups": [""], "resources": ["pods", "nodes"]});
        let texts: Vec<String> =
            compact(atoms(Rule(&rule))).iter().map(|it| shown(Rule(it))).collect();
        assert_eq!(
            texts,
            [
                "{APIGroups:[\"\"], Resources:[\"pods\"], Verbs:[\"get\" \"list\"]}",
                "{APIGroups:[\"\"], Resources:[\"nodes\"], Verbs:[\"get\" \"list\"]}",
            ]
        );
    }
}
