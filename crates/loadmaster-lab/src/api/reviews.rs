//! Access reviews: everybody is administrator of a lab, and is told so.

use serde_json::{Value, json};

use super::Api;
use crate::resources::Resource;
use crate::store::rfc3339;

impl Api {
    /// Answers a review by filling in its status; reviews are not stored.
    pub fn review(&self, resource: &Resource, review: &Value) -> Value {
        let status = match resource.kind {
            "SelfSubjectReview" => json!({"userInfo": user()}),
            "TokenReview" => json!({"authenticated": true, "user": user()}),
            "SelfSubjectRulesReview" => json!({
                "resourceRules": [{"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}],
                "nonResourceRules": [{"verbs": ["*"], "nonResourceURLs": ["*"]}],
                "incomplete": false,
            }),
            _ => json!({"allowed": true}),
        };
        let mut answer = json!({
            "kind": resource.kind,
            "apiVersion": resource.api_version(),
            "metadata": {"creationTimestamp": rfc3339(self.store.now())},
            "status": status,
        });
        if !review["spec"].is_null() {
            answer["spec"] = review["spec"].clone();
        }
        answer
    }
}

fn user() -> Value {
    json!({"username": "admin", "groups": ["system:masters", "system:authenticated"]})
}
