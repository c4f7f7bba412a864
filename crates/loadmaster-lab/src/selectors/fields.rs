//! Field selectors: equality on the few fields of a kind that the API server knows.

use serde_json::Value;

use crate::resources::{Collection, Resource};
use crate::status::Status;

/// A conjunction of (un)equal fields; the empty one matches everything.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FieldSelector {
    terms: Vec<Term>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Term {
    /// Path in the stored object.
    path: String,
    value: String,
    equal: bool,
}

const PODS: &[&str] = &[
    "spec.nodeName",
    "spec.restartPolicy",
    "spec.schedulerName",
    "spec.serviceAccountName",
    "spec.hostNetwork",
    "status.phase",
    "status.podIP",
    "status.podIPs",
    "status.nominatedNodeName",
];

const EVENTS: &[&str] = &[
    "involvedObject.kind",
    "involvedObject.namespace",
    "involvedObject.name",
    "involvedObject.uid",
    "involvedObject.apiVersion",
    "involvedObject.resourceVersion",
    "involvedObject.fieldPath",
    "reason",
    "reportingComponent",
    "source",
    "type",
];

const NEW_EVENTS: &[&str] = &[
    "regarding.kind",
    "regarding.namespace",
    "regarding.name",
    "regarding.uid",
    "regarding.apiVersion",
    "regarding.resourceVersion",
    "regarding.fieldPath",
    "reason",
    "reportingController",
    "type",
];

impl FieldSelector {
    /// Reads `spec.nodeName=n1,status.phase!=Running` for a resource.
    ///
    /// # Errors
    /// 400 for a syntax error or a field that the kind cannot be selected by.
    pub fn parse(text: &str, resource: &Resource) -> Result<Self, Status> {
        let mut terms = Vec::new();
        for term in split_terms(text) {
            if term.is_empty() {
                continue;
            }
            let (path, value, equal) = split_operator(&term).ok_or_else(|| {
                Status::bad_request(format!(
                    "invalid selector: '{text}'; can't understand '{term}'"
                ))
            })?;
            let path = stored_path(resource, path)?;
            terms.push(Term { path, value: unescape(value), equal });
        }
        Ok(Self { terms })
    }

    /// Whether every object matches.
    pub fn is_everything(&self) -> bool {
        self.terms.is_empty()
    }

    /// The one name that an object must have to match, if the selector says so.
    pub fn required_name(&self) -> Option<&str> {
        let term = self.terms.iter().find(|it| it.equal && it.path == "metadata.name")?;
        Some(&term.value)
    }

    /// Whether a stored object matches.
    pub fn matches(&self, object: &Value) -> bool {
        self.terms.iter().all(|it| (read(object, &it.path) == it.value) == it.equal)
    }
}

/// Where the field is in the stored object, if the kind may be selected by it.
fn stored_path(resource: &Resource, path: &str) -> Result<String, Status> {
    if path == "metadata.name" || (path == "metadata.namespace") {
        return Ok(path.to_owned());
    }
    let known: &[&str] = match resource.collection {
        Collection::PODS => PODS,
        Collection::NODES => &["spec.unschedulable"],
        Collection::NAMESPACES => &["status.phase"],
        Collection::EVENTS if resource.is_events_view() => NEW_EVENTS,
        Collection::EVENTS => EVENTS,
        Collection::JOBS => &["status.successful"],
        Collection::SECRETS => &["type"],
        Collection::RESOURCE_SLICES => &["spec.nodeName", "spec.driver"],
        Collection::REPLICATION_CONTROLLERS => &["status.replicas"],
        Collection::SERVICES => &["spec.clusterIP", "spec.type"],
        _ => {
            let only = "only \"metadata.name\", \"metadata.namespace\"";
            let text = format!("{path:?} is not a known field selector: {only}");
            return Err(Status::bad_request(text));
        }
    };
    if !known.contains(&path) {
        return Err(Status::bad_request(format!("field label not supported: {path}")));
    }
    Ok(match path.strip_prefix("regarding.") {
        Some(rest) => format!("involvedObject.{rest}"),
        None if path == "reportingController" => "reportingComponent".to_owned(),
        None => path.to_owned(),
    })
}

/// The field's text, the way the real server computes it for selection.
fn read(object: &Value, path: &str) -> String {
    match path {
        "source" => {
            let source = read_path(object, "source.component");
            if source.is_empty() { read_path(object, "reportingComponent") } else { source }
        }
        "spec.unschedulable" | "spec.hostNetwork" => {
            let set = read_path(object, path) == "true";
            set.to_string()
        }
        "status.podIPs" => read_path(object, "status.podIP"),
        "status.successful" => {
            let count = read_path(object, "status.succeeded");
            if count.is_empty() { "0".to_owned() } else { count }
        }
        _ => read_path(object, path),
    }
}

fn read_path(object: &Value, path: &str) -> String {
    let value = path.split('.').fold(object, |value, segment| &value[segment]);
    match value {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        other => other.to_string(),
    }
}

/// Splits at commas that no backslash protects.
fn split_terms(text: &str) -> Vec<String> {
    let mut terms = vec![String::new()];
    let mut escaped = false;
    for letter in text.chars() {
        if letter == ',' && !escaped {
            terms.push(String::new());
            continue;
        }
        escaped = letter == '\\' && !escaped;
        if let Some(term) = terms.last_mut() {
            term.push(letter);
        }
    }
    terms
}

fn split_operator(term: &str) -> Option<(&str, &str, bool)> {
    let at = term.find('=')?;
    let (before, after) = (&term[..at], &term[at + 1..]);
    if let Some(path) = before.strip_suffix('!') {
        return Some((path, after, false));
    }
    Some((before, after.strip_prefix('=').unwrap_or(after), true))
}

fn unescape(value: &str) -> String {
    let mut plain = String::new();
    let mut letters = value.chars();
    while let Some(letter) = letters.next() {
        plain.extend(if letter == '\\' { letters.next() } else { Some(letter) });
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn pods(text: &str) -> FieldSelector {
        FieldSelector::parse(text, Collection::PODS.resource()).unwrap()
    }

    #[test]
    fn an_empty_value_selects_what_is_unset() {
        let unbound = json!({"metadata": {"name": "a"}, "status": {"phase": "Pending"}});
        let bound = json!({"spec": {"nodeName": "n1"}, "status": {"phase": "Running"}});
        assert!(pods("spec.nodeName=").matches(&unbound));
        assert!(!pods("spec.nodeName=").matches(&bound));
        assert!(pods("spec.nodeName==n1,status.phase!=Succeeded").matches(&bound));
        assert!(pods("spec.hostNetwork=false").matches(&bound));
    }

    #[test]
    fn the_new_events_view_selects_on_the_stored_core_fields() {
        let event = json!({"involvedObject": {"name": "p"}, "reportingComponent": "c"});
        let view = crate::resources::by_path("events.k8s.io", "v1", "events").unwrap();
        let selects = |text| FieldSelector::parse(text, view).unwrap().matches(&event);
        assert!(selects("regarding.name=p,reportingController=c"));
        let core = FieldSelector::parse("source=c", Collection::EVENTS.resource()).unwrap();
        assert!(core.matches(&event));
    }

    #[test]
    fn unknown_fields_are_refused_in_the_words_of_each_kind() {
        let refuse = |text, collection: Collection| {
            FieldSelector::parse(text, collection.resource()).unwrap_err().message
        };
        assert_eq!(
            refuse("metadata.uid=x", Collection::PODS),
            "field label not supported: metadata.uid"
        );
        assert_eq!(
            refuse("status.replicas=1", Collection::DEPLOYMENTS),
            "\"status.replicas\" is not a known field selector: only \"metadata.name\", \
             \"metadata.namespace\""
        );
        assert_eq!(
            refuse("nonsense", Collection::PODS),
            "invalid selector: 'nonsense'; can't understand 'nonsense'"
        );
    }
}
