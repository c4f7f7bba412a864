//! Which permissions are missing, by asking the server for each.

use std::collections::BTreeSet;

use futures::future::try_join_all;
use http::Method;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::{
    needs::{Need, Scope},
    rest::{CallError, JSON, Rest},
};

/// Whose permissions are asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Subject {
    /// Those of whoever asks.
    Oneself,
    /// Those of a service account.
    ServiceAccount {
        /// Its namespace.
        namespace: String,
        /// Its name.
        name: String,
    },
}

/// How many questions are asked at once.
const AT_ONCE: usize = 8;

/// What of `needs` is not allowed: the same needs with nothing but the verbs that are refused, in
/// their order.
///
/// # Errors
/// [`CallError`] where the server does not answer such questions.
pub async fn missing(rest: &Rest, needs: &[Need], whose: &Subject) -> Result<Vec<Need>, CallError> {
    let each = needs.iter().flat_map(|need| need.verbs.iter().map(move |verb| (need, verb)));
    let each: Vec<(&Need, &String)> = each.collect();
    let mut verdicts = Vec::new();
    for some in each.chunks(AT_ONCE) {
        let questions = some.iter().map(|(need, verb)| review(&need.scope, verb, whose));
        let answers: Vec<_> = questions.map(|it| is_allowed(rest, it)).collect();
        verdicts.extend(try_join_all(answers).await?);
    }
    let mut missing: Vec<Need> = Vec::new();
    let refused = each.into_iter().zip(verdicts).filter(|(_, allowed)| !allowed);
    for ((need, verb), _) in refused {
        let verb = verb.clone();
        match missing.last_mut().filter(|it| it.scope == need.scope) {
            Some(same) => drop(same.verbs.insert(verb)),
            None => missing.push(Need { verbs: BTreeSet::from([verb]), ..need.clone() }),
        }
    }
    Ok(missing)
}

async fn is_allowed(rest: &Rest, question: Question) -> Result<bool, CallError> {
    #[derive(Deserialize)]
    struct Review {
        status: Status,
    }
    #[derive(Deserialize)]
    struct Status {
        #[serde(default)]
        allowed: bool,
    }
    let (kind, plural, body) = question;
    let path = format!("/apis/authorization.k8s.io/v1/{plural}");
    let review = json!({"apiVersion": "authorization.k8s.io/v1", "kind": kind, "spec": body});
    let answer = rest.call(Method::POST, &path, JSON, Some(&review)).await?;
    serde_json::from_slice(&answer)
        .map(|it: Review| it.status.allowed)
        .map_err(|error| CallError::Unreadable(error.to_string()))
}

/// The kind of the question, its plural name, and its `spec`.
type Question = (&'static str, &'static str, Value);

fn review(scope: &Scope, verb: &str, whose: &Subject) -> Question {
    let mut attributes = json!({"verb": verb, "group": scope.group, "resource": scope.resource});
    let rest = [
        ("namespace", &scope.namespace),
        ("subresource", &scope.subresource),
        ("name", &scope.name),
    ];
    for (field, value) in rest {
        if !value.is_empty() {
            attributes[field] = json!(value);
        }
    }
    match whose {
        Subject::Oneself => (
            "SelfSubjectAccessReview",
            "selfsubjectaccessreviews",
            json!({"resourceAttributes": attributes}),
        ),
        Subject::ServiceAccount { namespace, name } => (
            "SubjectAccessReview",
            "subjectaccessreviews",
            json!({
                "resourceAttributes": attributes,
                "user": format!("system:serviceaccount:{namespace}:{name}"),
                "groups": [
                    "system:serviceaccounts",
                    format!("system:serviceaccounts:{namespace}"),
                    "system:authenticated",
                ],
            }),
        ),
    }
}
