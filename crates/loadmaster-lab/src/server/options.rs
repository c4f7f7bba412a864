//! Options of writes, from the query and from `DeleteOptions` bodies.

use serde_json::{Value, json};

use super::query::Query;
use crate::api::{DeleteOptions, FieldValidation, Propagation};
use crate::status::{FieldError, Status};

/// Whether nothing is to be stored.
///
/// # Errors
/// 422 for a value that is not `All`; `kind` is the options object named in it.
pub(super) fn dry_run(query: &Query, kind: &str) -> Result<bool, Status> {
    let values = query.all("dryRun");
    check_dry_run(&json!(values), kind)?;
    Ok(!values.is_empty())
}

fn check_dry_run(values: &Value, kind: &str) -> Result<(), Status> {
    let fine = values.as_array().is_none_or(|list| list.iter().all(|it| it == "All"));
    if fine {
        return Ok(());
    }
    let error = FieldError::not_supported("dryRun", values, &["All"]);
    Err(Status::invalid_kind("meta.k8s.io", kind, "", &[error]))
}

/// What to do about unknown fields.
///
/// # Errors
/// 422 for a value that is none of the three.
pub(super) fn field_validation(query: &Query, kind: &str) -> Result<FieldValidation, Status> {
    match query.get("fieldValidation") {
        "" | "Warn" => Ok(FieldValidation::Warn),
        "Ignore" => Ok(FieldValidation::Ignore),
        "Strict" => Ok(FieldValidation::Strict),
        other => {
            let supported = &["", "Ignore", "Strict", "Warn"];
            let error = FieldError::not_supported("fieldValidation", &json!(other), supported);
            Err(Status::invalid_kind("meta.k8s.io", kind, "", &[error]))
        }
    }
}

/// How to delete: the body decides when there is one, else the query.
///
/// # Errors
/// 422 for values that the options cannot have.
pub(super) fn delete(query: &Query, body: Option<&Value>) -> Result<DeleteOptions, Status> {
    let from_query;
    let options = if let Some(body) = body.filter(|it| it.as_object().is_some_and(has_options)) {
        body
    } else {
        from_query = options_in(query);
        &from_query
    };
    check_dry_run(&options["dryRun"], "DeleteOptions")?;
    let propagation = match options["propagationPolicy"].as_str() {
        None | Some("") => match options["orphanDependents"].as_bool() {
            Some(true) => Some(Propagation::Orphan),
            Some(false) => Some(Propagation::Background),
            None => None,
        },
        Some(name) => Some(Propagation::named(name).ok_or_else(|| {
            let supported = &["Foreground", "Background", "Orphan", "nil"];
            let error = FieldError::not_supported("propagationPolicy", &json!(name), supported);
            Status::invalid_kind("meta.k8s.io", "DeleteOptions", "", &[error])
        })?),
    };
    let precondition = |field: &str| options["preconditions"][field].as_str().map(str::to_owned);
    Ok(DeleteOptions {
        grace_seconds: options["gracePeriodSeconds"].as_i64(),
        propagation,
        uid: precondition("uid"),
        resource_version: precondition("resourceVersion"),
        dry_run: options["dryRun"].as_array().is_some_and(|it| !it.is_empty()),
    })
}

fn has_options(body: &serde_json::Map<String, Value>) -> bool {
    body.keys().any(|it| it != "kind" && it != "apiVersion")
}

fn options_in(query: &Query) -> Value {
    let mut options = json!({});
    let dry_run = query.all("dryRun");
    if !dry_run.is_empty() {
        options["dryRun"] = json!(dry_run);
    }
    if let Some(seconds) = query.number("gracePeriodSeconds") {
        options["gracePeriodSeconds"] = json!(seconds);
    }
    let policy = query.get("propagationPolicy");
    if !policy.is_empty() {
        options["propagationPolicy"] = json!(policy);
    }
    options
}

#[cfg(test)]
mod tests {
    use super::*;

    fn query(text: &str) -> Query {
        Query::of(&format!("/x?{text}").parse().unwrap())
    }

    #[test]
    fn impossible_values_are_told_with_those_that_are_supported() {
        assert_eq!(
            dry_run(&query("dryRun=true"), "CreateOptions").unwrap_err().message,
            "CreateOptions.meta.k8s.io \"\" is invalid: dryRun: Unsupported value: [\"true\"]: \
             supported values: \"All\""
        );
        assert_eq!(
            field_validation(&query("fieldValidation=Foo"), "CreateOptions").unwrap_err().message,
            "CreateOptions.meta.k8s.io \"\" is invalid: fieldValidation: Unsupported value: \
             \"Foo\": supported values: \"\", \"Ignore\", \"Strict\", \"Warn\""
        );
        assert_eq!(
            delete(&query("propagationPolicy=Foo"), None).unwrap_err().message,
            "DeleteOptions.meta.k8s.io \"\" is invalid: propagationPolicy: Unsupported value: \
             \"Foo\": supported values: \"Foreground\", \"Background\", \"Orphan\", \"nil\""
        );
    }

    #[test]
    fn delete_options_come_from_the_body_or_else_from_the_query() {
        let body = json!({"kind": "DeleteOptions", "apiVersion": "v1", "gracePeriodSeconds": 1,
            "preconditions": {"uid": "u"}});
        let options = delete(&query("gracePeriodSeconds=9"), Some(&body)).unwrap();
        assert_eq!((options.grace_seconds, options.uid.as_deref()), (Some(1), Some("u")));
        let empty = json!({"kind": "DeleteOptions", "apiVersion": "v1"});
        let options = delete(&query("gracePeriodSeconds=9&dryRun=All"), Some(&empty)).unwrap();
        assert_eq!((options.grace_seconds, options.dry_run), (Some(9), true));
    }
}
