//! Rules about pod affinity.

use loadmaster_framework::api::{LabelSelector, Labels};
use serde_json::{Value, json};

use super::Deviation;

const KINDS: [&str; 2] = ["podAffinity", "podAntiAffinity"];
const REQUIRED: &str = "requiredDuringSchedulingIgnoredDuringExecution";
const PREFERRED: &str = "preferredDuringSchedulingIgnoredDuringExecution";
/// No namespace can have this name.
const NOWHERE: &str = "-";

/// Whether upstream, which looks at no namespace's labels there, takes the selector for matching.
fn matches_no_labels(selector: &Value) -> bool {
    let selector: Option<LabelSelector> = serde_json::from_value(selector.clone()).ok();
    let compiled = selector.and_then(|it| it.compile().ok());
    compiled.is_some_and(|it| it.matches(&Labels::default()))
}

/// Makes a selector that matches the empty label set one that matches every namespace.
fn widen(term: &mut Value) {
    if !term["namespaceSelector"].is_null() && matches_no_labels(&term["namespaceSelector"]) {
        term["namespaceSelector"] = json!({});
    }
}

/// k/k#141526: the namespaces that a term of the pod's own selects are added to those it names, but
/// the selector stays, and is then matched against no labels at all.
pub(super) fn own_namespace_selector(it: &Deviation<'_>) -> bool {
    it.vanishes(|case| {
        for kind in KINDS {
            let affinity = &mut case["pod"]["spec"]["affinity"][kind];
            for term in affinity[REQUIRED].as_array_mut().into_iter().flatten() {
                widen(term);
            }
            for term in affinity[PREFERRED].as_array_mut().into_iter().flatten() {
                widen(&mut term["podAffinityTerm"]);
            }
        }
    })
}

/// k/k#141953: a queueing hint looks at no namespace's labels.
pub(super) fn hint_namespace_selector(it: &Deviation<'_>) -> bool {
    is_missed_wake_up(it)
        && it.vanishes(|case| terms_of_hint(case, |terms, _| forget_namespaces(terms)))
}

/// A queueing hint asks whether a pod that went matched all anti-affinity terms, where each of them
/// alone kept the waiting pod away.
pub(super) fn hint_any_anti_affinity_term(it: &Deviation<'_>) -> bool {
    is_missed_wake_up(it)
        && it.vanishes(|case| {
            terms_of_hint(case, |terms, namespace| {
                forget_namespaces(terms);
                join(terms, namespace);
            });
        })
}

/// Whether we wake the pod, and upstream does not.
fn is_missed_wake_up(it: &Deviation<'_>) -> bool {
    let [only] = it.differences else { return false };
    it.case["plugin"] == "InterPodAffinity"
        && only.path == "hint"
        && (&only.expected, &only.actual) == (&json!("QueueSkip"), &json!("Queue"))
}

/// Makes a change to the required anti-affinity of every pod of the call, told its namespace, and to
/// the affinity terms as far as namespaces go.
fn terms_of_hint(case: &mut Value, change: impl Fn(&mut Vec<Value>, &Value)) {
    for pod in ["pod", "oldObj", "newObj"] {
        let namespace = case[pod]["metadata"]["namespace"].clone();
        let Some(spec) = case[pod].get_mut("spec") else { continue };
        let Some(affinity) = spec.get_mut("affinity") else { continue };
        if let Some(terms) = affinity["podAffinity"][REQUIRED].as_array_mut() {
            forget_namespaces(terms);
        }
        if let Some(terms) = affinity["podAntiAffinity"][REQUIRED].as_array_mut() {
            change(terms, &namespace);
        }
    }
}

/// Makes each term match what it does where no namespace has labels.
fn forget_namespaces(terms: &mut Vec<Value>) {
    for term in terms {
        if term["namespaceSelector"].is_null() {
            continue;
        }
        widen(term);
        if term["namespaceSelector"] != json!({}) {
            term["namespaceSelector"] = Value::Null;
            if term["namespaces"].as_array().is_none_or(Vec::is_empty) {
                term["namespaces"] = json!([NOWHERE]);
            }
        }
    }
}

/// Makes one term of many that matches what all of them do; a term that names no namespace is about
/// `namespace`.
fn join(terms: &mut Vec<Value>, namespace: &Value) {
    if terms.len() < 2 {
        return;
    }
    let mut expressions = Vec::new();
    let mut namespaces: Option<Vec<Value>> = None;
    let mut nothing = false;
    for term in terms.iter() {
        nothing |= term["labelSelector"].is_null();
        let labels = term["labelSelector"]["matchLabels"].as_object();
        for (key, value) in labels.into_iter().flatten() {
            expressions.push(json!({"key": key, "operator": "In", "values": [value]}));
        }
        let written = term["labelSelector"]["matchExpressions"].as_array();
        expressions.extend(written.into_iter().flatten().cloned());
        if term["namespaceSelector"] == json!({}) {
            continue;
        }
        let named = term["namespaces"].as_array().filter(|it| !it.is_empty());
        let named = named.cloned().unwrap_or_else(|| vec![namespace.clone()]);
        namespaces = Some(match namespaces {
            None => named,
            Some(before) => before.into_iter().filter(|it| named.contains(it)).collect(),
        });
    }
    let mut joint = json!({
        "topologyKey": terms[0]["topologyKey"],
        "labelSelector": if nothing { Value::Null } else { json!({"matchExpressions": expressions}) },
    });
    match namespaces {
        None => joint["namespaceSelector"] = json!({}),
        Some(named) if named.is_empty() => joint["namespaces"] = json!([NOWHERE]),
        Some(named) => joint["namespaces"] = named.into(),
    }
    *terms = vec![joint];
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_selectors_that_match_no_labels_are_widened() {
        let widened = |selector: Value| {
            let mut term = json!({"namespaceSelector": selector});
            widen(&mut term);
            term["namespaceSelector"] == json!({})
        };
        let expression = |operator: &str, values: &[&str]| {
            let values = json!(values);
            json!({"matchExpressions": [{"key": "team", "operator": operator, "values": values}]})
        };
        assert!(widened(expression("NotIn", &["a"])));
        assert!(widened(expression("DoesNotExist", &[])));
        assert!(!widened(expression("In", &["a"])));
        assert!(!widened(json!({"matchLabels": {"team": "a"}})));
        assert!(!widened(Value::Null));
    }

    #[test]
    fn a_joint_term_is_about_pods_that_every_term_is_about() {
        let mut terms = vec![
            json!({"topologyKey": "zone", "labelSelector": {"matchLabels": {"app": "web"}}}),
            json!({
                "topologyKey": "host",
                "labelSelector": {"matchExpressions": [{"key": "tier", "operator": "Exists"}]},
                "namespaces": ["default", "other"],
            }),
        ];
        join(&mut terms, &json!("default"));
        assert_eq!(
            terms,
            [json!({
                "topologyKey": "zone",
                "labelSelector": {"matchExpressions": [
                    {"key": "app", "operator": "In", "values": ["web"]},
                    {"key": "tier", "operator": "Exists"},
                ]},
                "namespaces": ["default"],
            })]
        );
    }
}
