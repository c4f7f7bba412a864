//! The `Status` object: every refusal of the API, with the reasons and details that clients read.
//!
//! kubectl and client-go decide by `reason`, `code` and `details`, and print `message`; the texts
//! here are those of kube-apiserver 1.36.

use serde::Serialize;
use serde_json::{Value, json};

use crate::resources::Resource;
use crate::store::StoreError;

/// A refusal, or the success answer of a call that has no object to give.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Status {
    /// HTTP status code, repeated in the body.
    pub code: u16,
    /// Machine-readable reason; empty leaves the field out, as upstream does for plain 500s.
    pub reason: &'static str,
    /// What people read.
    pub message: String,
    /// What the refusal is about; `None` leaves the field out.
    pub details: Option<Box<Details>>,
    /// A token with which an expired list can be continued; empty leaves the field out.
    pub resume: String,
}

/// The object or field a [`Status`] is about.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Details {
    /// Object name.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// API group of the object.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub group: String,
    /// The plural resource for most refusals, the kind for validation ones.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub kind: String,
    /// One entry per fault.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub causes: Vec<Cause>,
    /// When to try again, in seconds.
    #[serde(rename = "retryAfterSeconds", skip_serializing_if = "Option::is_none")]
    pub retry_after_seconds: Option<u32>,
}

/// One fault among those that make a request unacceptable.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Cause {
    /// `FieldValueInvalid` and its kin.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// The fault without the field's path.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub message: String,
    /// The field's path.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub field: String,
}

/// A fault in one field of an object: the element of an `Invalid` status.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldError {
    /// Path of the field, like `spec.containers[0].name`.
    pub field: String,
    /// The cause's machine-readable reason.
    pub reason: &'static str,
    /// The text without the field: `Invalid value: "x": must be …`.
    pub body: String,
}

impl FieldError {
    /// A field that must be there; `detail` may be empty.
    pub fn required(field: impl Into<String>, detail: &str) -> Self {
        Self::new(field, "FieldValueRequired", with_detail("Required value", detail))
    }

    /// A value that breaks a rule.
    pub fn invalid(field: impl Into<String>, value: &Value, detail: &str) -> Self {
        let body = with_detail(&format!("Invalid value: {value}"), detail);
        Self::new(field, "FieldValueInvalid", body)
    }

    /// A value outside a closed list.
    pub fn not_supported(field: impl Into<String>, value: &Value, supported: &[&str]) -> Self {
        let list: Vec<String> = supported.iter().map(|it| format!("{it:?}")).collect();
        let body = format!("Unsupported value: {value}: supported values: {}", list.join(", "));
        Self::new(field, "FieldValueNotSupported", body)
    }

    /// A value that may occur once only.
    pub fn duplicate(field: impl Into<String>, value: &Value) -> Self {
        Self::new(field, "FieldValueDuplicate", format!("Duplicate value: {value}"))
    }

    /// A field that may not be set, or not changed, here.
    pub fn forbidden(field: impl Into<String>, detail: &str) -> Self {
        Self::new(field, "FieldValueForbidden", with_detail("Forbidden", detail))
    }

    /// A value longer than `max` bytes or items.
    pub fn too_long(field: impl Into<String>, max: usize) -> Self {
        let body = format!("Too long: may not be more than {max} bytes");
        Self::new(field, "FieldValueTooLong", body)
    }

    fn new(field: impl Into<String>, reason: &'static str, body: String) -> Self {
        Self { field: field.into(), reason, body }
    }
}

fn with_detail(body: &str, detail: &str) -> String {
    if detail.is_empty() { body.to_owned() } else { format!("{body}: {detail}") }
}

impl Status {
    /// A refusal without details.
    pub fn new(code: u16, reason: &'static str, message: impl Into<String>) -> Self {
        Self { code, reason, message: message.into(), details: None, resume: String::new() }
    }

    /// 404: the object does not exist.
    pub fn not_found(resource: &Resource, name: &str) -> Self {
        let message = format!("{} {name:?} not found", resource.group_resource());
        Self::new(404, "NotFound", message).about(resource, name)
    }

    /// 404: the group is known, the resource is not.
    pub fn unknown_resource() -> Self {
        Self::new(404, "NotFound", "the server could not find the requested resource")
            .with_details(Details::default())
    }

    /// 409: an object of that name exists, or is still being deleted.
    pub fn already_exists(resource: &Resource, name: &str, being_deleted: bool) -> Self {
        let prefix = if being_deleted { "object is being deleted: " } else { "" };
        let message = format!("{prefix}{} {name:?} already exists", resource.group_resource());
        Self::new(409, "AlreadyExists", message).about(resource, name)
    }

    /// 409 with the given explanation.
    pub fn conflict(resource: &Resource, name: &str, why: &str) -> Self {
        let message = format!(
            "Operation cannot be fulfilled on {} {name:?}: {why}",
            resource.group_resource()
        );
        Self::new(409, "Conflict", message).about(resource, name)
    }

    /// 409: the writer saw an older version.
    pub fn modified(resource: &Resource, name: &str) -> Self {
        let why = "the object has been modified; please apply your changes to the latest version \
                   and try again";
        Self::conflict(resource, name, why)
    }

    /// 422: one or several fields are wrong.
    pub fn invalid(resource: &Resource, name: &str, errors: &[FieldError]) -> Self {
        Self::invalid_kind(resource.group, resource.kind, name, errors)
    }

    /// 422 about something that is not an entry of the resource table (list options, patches).
    pub fn invalid_kind(group: &str, kind: &str, name: &str, errors: &[FieldError]) -> Self {
        let one = |it: &FieldError| format!("{}: {}", it.field, it.body);
        let text = match errors {
            [single] => one(single),
            several => {
                format!("[{}]", several.iter().map(one).collect::<Vec<_>>().join(", "))
            }
        };
        let dot = if group.is_empty() { "" } else { "." };
        let message = format!("{kind}{dot}{group} {name:?} is invalid: {text}");
        let causes = errors
            .iter()
            .map(|it| Cause {
                reason: it.reason.to_owned(),
                message: it.body.clone(),
                field: it.field.clone(),
            })
            .collect();
        let details = Details {
            name: name.to_owned(),
            group: group.to_owned(),
            kind: kind.to_owned(),
            causes,
            retry_after_seconds: None,
        };
        Self::new(422, "Invalid", message).with_details(details)
    }

    /// 403 with the admission plugin's explanation.
    pub fn forbidden(resource: &Resource, name: &str, why: &str) -> Self {
        let message = format!("{} {name:?} is forbidden: {why}", resource.group_resource());
        Self::new(403, "Forbidden", message).about(resource, name)
    }

    /// 400: the request makes no sense.
    pub fn bad_request(message: impl Into<String>) -> Self {
        Self::new(400, "BadRequest", message)
    }

    /// 405: the path exists, the method does not.
    pub fn method_not_allowed() -> Self {
        let message = "the server does not allow this method on the requested resource";
        Self::new(405, "MethodNotAllowed", message).with_details(Details::default())
    }

    /// 500 without a reason: upstream's answer to a plain error inside a handler.
    pub fn internal(message: impl Into<String>) -> Self {
        Self::new(500, "", message)
    }

    /// 410: the history asked for is gone.
    pub fn expired(message: impl Into<String>) -> Self {
        Self::new(410, "Expired", message)
    }

    /// The same refusal with other details.
    #[must_use]
    pub fn with_details(mut self, details: Details) -> Self {
        self.details = Some(Box::new(details));
        self
    }

    /// The same refusal with one more cause.
    #[must_use]
    pub fn with_cause(mut self, reason: &str, message: &str, field: &str) -> Self {
        self.details.get_or_insert_default().causes.push(Cause {
            reason: reason.to_owned(),
            message: message.to_owned(),
            field: field.to_owned(),
        });
        self
    }

    fn about(self, resource: &Resource, name: &str) -> Self {
        self.with_details(Details {
            name: name.to_owned(),
            group: resource.group.to_owned(),
            kind: resource.plural.to_owned(),
            ..Details::default()
        })
    }

    /// What a refused store write means to the caller of the API, for the view it came through.
    pub fn from_store(error: StoreError, resource: &Resource) -> Self {
        match error {
            StoreError::NotFound { name, .. } => Self::not_found(resource, &name),
            StoreError::AlreadyExists { name, being_deleted, .. } => {
                Self::already_exists(resource, &name, being_deleted)
            }
            StoreError::Refused(status) => *status,
        }
    }

    /// The `Status` object as it goes over the wire.
    pub fn to_value(&self) -> Value {
        let mut value = json!({
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Failure",
            "message": self.message,
            "code": self.code,
        });
        if !self.reason.is_empty() {
            value["reason"] = json!(self.reason);
        }
        if !self.resume.is_empty() {
            value["metadata"]["continue"] = json!(self.resume);
        }
        if let Some(details) = &self.details {
            value["details"] = json!(details);
        }
        value
    }
}

impl From<StoreError> for Status {
    fn from(error: StoreError) -> Self {
        let resource = match &error {
            StoreError::NotFound { collection, .. }
            | StoreError::AlreadyExists { collection, .. } => collection.resource(),
            StoreError::Refused(status) => return (**status).clone(),
        };
        Self::from_store(error, resource)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::resources::Collection;

    #[test]
    fn a_missing_object_is_named_by_its_group_resource() {
        let status = Status::not_found(Collection::DEPLOYMENTS.resource(), "x");
        assert_eq!(
            status.to_value(),
            json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
                   "message": "deployments.apps \"x\" not found", "reason": "NotFound",
                   "details": {"name": "x", "group": "apps", "kind": "deployments"}, "code": 404})
        );
    }

    #[test]
    fn several_field_errors_are_bracketed_and_each_becomes_a_cause() {
        let errors = [
            FieldError::required("a", ""),
            FieldError::not_supported("b", &json!("No"), &["NoSchedule", "NoExecute"]),
        ];
        let status = Status::invalid(Collection::PODS.resource(), "x", &errors);
        assert_eq!(
            status.message,
            "Pod \"x\" is invalid: [a: Required value, b: Unsupported value: \"No\": supported \
             values: \"NoSchedule\", \"NoExecute\"]"
        );
        let details = status.details.unwrap();
        assert_eq!(details.kind, "Pod");
        assert_eq!(details.causes[1].field, "b");
        assert_eq!(details.causes[0].message, "Required value");
    }
}
