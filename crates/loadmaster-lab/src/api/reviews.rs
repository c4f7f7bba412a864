//! Reviews: who somebody is, and what he may do.
//!
//! Source: `pkg/registry/authentication` and `pkg/registry/authorization` 1.36.

use serde_json::{Value, json};

use super::Api;
use crate::auth::rbac::{Rule, rules_for};
use crate::auth::{AUDIENCE, Attributes, ResourceTarget, Target, TokenError, User, authorize};
use crate::resources::Resource;
use crate::status::{FieldError, Status};
use crate::store::{rfc3339, text};
use crate::values::list;

impl Api {
    /// Answers a review that `user` sends by filling in its status; reviews are not stored.
    ///
    /// # Errors
    /// 400 and 422 for a review that asks nothing.
    pub fn review(
        &self,
        resource: &Resource,
        namespace: &str,
        review: &Value,
        user: &User,
    ) -> Result<Value, Status> {
        let spec = &review["spec"];
        let mut answer = json!({"kind": resource.kind, "apiVersion": resource.api_version(),
            "metadata": {}});
        if !spec.is_null() {
            answer["spec"] = spec.clone();
        }
        answer["status"] = match resource.kind {
            "SelfSubjectReview" => {
                answer["metadata"]["creationTimestamp"] = json!(rfc3339(self.store.now()));
                json!({"userInfo": user.to_value()})
            }
            "TokenReview" => self.review_token(spec)?,
            "SelfSubjectRulesReview" => {
                answer["spec"] = json!({});
                self.review_rules(spec, user)?
            }
            kind => {
                let errors = access_faults(kind, namespace, review);
                if !errors.is_empty() {
                    // The original forgets which kind of review it was.
                    return Err(Status::invalid_kind(resource.group, "", "", &errors));
                }
                if kind == "LocalSubjectAccessReview" {
                    answer["metadata"]["namespace"] = json!(namespace);
                }
                let subject = if kind.starts_with("Self") { user.clone() } else { subject(spec) };
                let decision = authorize(&self.store, &subject, &attributes(spec));
                let mut status = json!({"allowed": decision.allowed});
                if !decision.reason.is_empty() {
                    status["reason"] = json!(decision.reason);
                }
                status
            }
        };
        Ok(answer)
    }

    fn review_token(&self, spec: &Value) -> Result<Value, Status> {
        let token = spec["token"].as_str().unwrap_or_default();
        if token.is_empty() {
            let message = "token is required for TokenReview in authentication";
            return Err(Status::bad_request(message));
        }
        let mut audiences = texts(spec, "/audiences");
        if audiences.is_empty() {
            audiences.push(AUDIENCE.to_owned());
        }
        Ok(match self.authenticate_for(token, &audiences) {
            Ok((user, heard)) => {
                json!({"authenticated": true, "user": user.to_value(), "audiences": heard})
            }
            Err(error) if error == TokenError::Invalid.to_string() => {
                json!({"user": {}, "error": error})
            }
            // The original tells of every way in which it tried.
            Err(error) => {
                json!({"user": {}, "error": format!("[{}, {error}]", TokenError::Invalid)})
            }
        })
    }

    fn review_rules(&self, spec: &Value, user: &User) -> Result<Value, Status> {
        let namespace = spec["namespace"].as_str().unwrap_or_default();
        if namespace.is_empty() {
            return Err(Status::bad_request("no namespace on request"));
        }
        let (rules, faults) = rules_for(&self.store, user, namespace);
        let picked = |members: &[&str], needed: &str| -> Vec<Value> {
            let with_needed = |rule: &&Value| Rule(rule).texts(needed).next().is_some();
            let pick = |rule: &Value| {
                let pairs = members.iter().map(|it| ((*it).to_owned(), rule[*it].clone()));
                pairs.filter(|(_, value)| !value.is_null()).collect()
            };
            rules.iter().filter(with_needed).map(pick).collect()
        };
        let resource_members = ["verbs", "apiGroups", "resources", "resourceNames"];
        let mut status = json!({
            "resourceRules": picked(&resource_members, "resources"),
            "nonResourceRules": picked(&["verbs", "nonResourceURLs"], "nonResourceURLs"),
            "incomplete": false,
        });
        if !faults.is_empty() {
            status["evaluationError"] = json!(faults.join(", "));
        }
        Ok(status)
    }
}

fn texts(value: &Value, pointer: &str) -> Vec<String> {
    list(value, pointer).iter().filter_map(|it| it.as_str().map(str::to_owned)).collect()
}

/// Whom an access review asks about.
fn subject(spec: &Value) -> User {
    let member = |name: &str| spec[name].as_str().unwrap_or_default().to_owned();
    let extra = spec["extra"].as_object().into_iter().flatten();
    User {
        name: member("user"),
        uid: member("uid"),
        groups: texts(spec, "/groups"),
        extra: extra.map(|(key, values)| (key.clone(), texts(values, ""))).collect(),
    }
}

/// What an access review asks about.
fn attributes(spec: &Value) -> Attributes {
    if let Some(asked) = spec.get("resourceAttributes").filter(|it| !it.is_null()) {
        let member = |name: &str| asked[name].as_str().unwrap_or_default().to_owned();
        let target = ResourceTarget {
            group: member("group"),
            resource: member("resource"),
            subresource: member("subresource"),
            namespace: member("namespace"),
            name: member("name"),
        };
        return Attributes::on(&member("verb"), target);
    }
    let member =
        |name: &str| spec["nonResourceAttributes"][name].as_str().unwrap_or_default().to_owned();
    Attributes { verb: member("verb"), target: Target::Path(member("path")) }
}

/// What is wrong with an access review.
fn access_faults(kind: &str, namespace: &str, review: &Value) -> Vec<FieldError> {
    let spec = &review["spec"];
    let (on_objects, on_path) = (&spec["resourceAttributes"], &spec["nonResourceAttributes"]);
    let mut errors = Vec::new();
    if on_objects.is_null() == on_path.is_null() {
        let (field, detail) = if on_path.is_null() {
            let detail = "exactly one of nonResourceAttributes or resourceAttributes must be \
                          specified";
            ("spec.resourceAttributes", detail)
        } else {
            (
                "spec.nonResourceAttributes",
                "cannot be specified in combination with resourceAttributes",
            )
        };
        errors.push(FieldError::invalid(field, &shown_path(on_path), detail));
    }
    let nobody =
        spec["user"].as_str().unwrap_or_default().is_empty() && list(spec, "/groups").is_empty();
    if nobody && !kind.starts_with("Self") {
        let detail = "at least one of user or group must be specified";
        errors.push(FieldError::invalid("spec.user", &json!(""), detail));
    }
    if !text(review, "name").is_empty() {
        let local = kind.starts_with("Local");
        let detail = if local { "must be empty except for namespace" } else { "must be empty" };
        errors.push(FieldError::invalid("metadata", &review["metadata"], detail));
    }
    if kind.starts_with("Local") {
        let given = on_objects["namespace"].as_str().unwrap_or_default();
        if !on_objects.is_null() && given != namespace {
            let field = "spec.resourceAttributes.namespace";
            let detail = "must match metadata.namespace";
            errors.push(FieldError::invalid(field, &json!(given), detail));
        }
        if !on_path.is_null() {
            let detail = "disallowed on this kind of request";
            let shown = shown_path(on_path);
            errors.push(FieldError::invalid("spec.nonResourceAttributes", &shown, detail));
        }
    }
    errors
}

/// A path and its verb as Go prints them: by the names of its fields.
fn shown_path(attributes: &Value) -> Value {
    if attributes.is_null() {
        return Value::Null;
    }
    let member = |name: &str| attributes[name].as_str().unwrap_or_default();
    json!({"Path": member("path"), "Verb": member("verb")})
}

#[cfg(test)]
mod tests;
