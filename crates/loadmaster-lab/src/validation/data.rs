//! Config maps, secrets, leases and disruption budgets.
//!
//! Source: `pkg/apis/core/validation`, `coordination/validation` and `policy/validation` 1.36.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::selectors::label_selector;
use super::{names, text};
use crate::status::FieldError;

/// All values together may not be larger, in bytes.
const MAX_SIZE: usize = 1024 * 1024;
/// What is shown of a secret.
const REDACTED: &str = "<secret contents redacted>";
/// Why an immutable object refuses a change.
const IMMUTABLE: &str = "field is immutable when `immutable` is set";

/// The faults of a config map.
pub(super) fn config_map(map: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let mut size = 0;
    for (member, is_binary) in [("data", false), ("binaryData", true)] {
        for (key, value) in map[member].as_object().into_iter().flatten() {
            errors.extend(key_faults(member, key));
            if !is_binary && map["binaryData"].get(key).is_some() {
                let detail = "duplicate of key present in binaryData";
                errors.push(FieldError::invalid(format!("data[{key}]"), &json!(key), detail));
            }
            size += if is_binary { decoded(value).len() } else { length(value) };
        }
    }
    if size > MAX_SIZE {
        // The whole object, as the original names it.
        errors.push(FieldError::too_long("[]", MAX_SIZE));
    }
    errors
}

/// The faults of a changed config map.
pub(super) fn changed_config_map(old: &Value, new: &Value) -> Vec<FieldError> {
    let mut errors = immutable(old, new, &["data", "binaryData"]);
    errors.extend(config_map(new));
    errors
}

/// The faults of a secret.
pub(super) fn secret(secret: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let data = &secret["data"];
    let mut size = 0;
    for (key, value) in data.as_object().into_iter().flatten() {
        errors.extend(key_faults("data", key));
        size += decoded(value).len();
    }
    if size > MAX_SIZE {
        errors.push(FieldError::too_long("data", MAX_SIZE));
    }
    let has = |key: &str| data.get(key).is_some();
    let missing = |key: &str| FieldError::required(format!("data[{key}]"), "");
    let account = "kubernetes.io/service-account.name";
    match text(secret, "type") {
        "kubernetes.io/service-account-token"
            if text(&secret["metadata"]["annotations"], account).is_empty() =>
        {
            let field = format!("metadata.annotations[{account}]");
            errors.push(FieldError::required(field, ""));
        }
        "kubernetes.io/dockercfg" => errors.extend(json_value(data, ".dockercfg")),
        "kubernetes.io/dockerconfigjson" => errors.extend(json_value(data, ".dockerconfigjson")),
        "kubernetes.io/basic-auth" if !has("username") && !has("password") => {
            errors.extend(["username", "password"].map(missing));
        }
        "kubernetes.io/ssh-auth" if decoded(&data["ssh-privatekey"]).is_empty() => {
            errors.push(missing("ssh-privatekey"));
        }
        "kubernetes.io/tls" => {
            errors.extend(["tls.crt", "tls.key"].into_iter().filter(|it| !has(it)).map(missing));
        }
        _ => {}
    }
    errors
}

/// The faults of a changed secret.
pub(super) fn changed_secret(old: &Value, new: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    if old["type"] != new["type"] {
        errors.push(FieldError::invalid("type", &new["type"], "field is immutable"));
    }
    errors.extend(immutable(old, new, &["data"]));
    errors.extend(secret(new));
    errors
}

/// The faults of a lease.
pub(super) fn lease(lease: &Value) -> Vec<FieldError> {
    let spec = &lease["spec"];
    let mut errors = Vec::new();
    for (member, least, detail) in [
        ("leaseDurationSeconds", 1, "must be greater than 0"),
        ("leaseTransitions", 0, "must be greater than or equal to 0"),
    ] {
        if spec[member].as_i64().is_some_and(|it| it < least) {
            errors.push(FieldError::invalid(format!("spec.{member}"), &spec[member], detail));
        }
    }
    errors
}

/// The faults of a disruption budget.
pub(super) fn disruption_budget(budget: &Value) -> Vec<FieldError> {
    let spec = &budget["spec"];
    let mut errors = Vec::new();
    if !spec["minAvailable"].is_null() && !spec["maxUnavailable"].is_null() {
        let detail = "minAvailable and maxUnavailable cannot be both set";
        errors.push(FieldError::invalid("spec", spec, detail));
    }
    for member in ["minAvailable", "maxUnavailable"] {
        errors.extend(amount(&spec[member], &format!("spec.{member}")));
    }
    errors.extend(label_selector(&spec["selector"], "spec.selector"));
    let policy = &spec["unhealthyPodEvictionPolicy"];
    if !matches!(policy.as_str(), None | Some("AlwaysAllow" | "IfHealthyBudget")) {
        let supported = ["AlwaysAllow", "IfHealthyBudget"];
        let field = "spec.unhealthyPodEvictionPolicy";
        errors.push(FieldError::not_supported(field, policy, &supported));
    }
    errors
}

/// A number of pods, or a share of them.
fn amount(value: &Value, field: &str) -> Option<FieldError> {
    if let Some(number) = value.as_i64() {
        let detail = "must be greater than or equal to 0";
        return (number < 0).then(|| FieldError::invalid(field, value, detail));
    }
    let share = value.as_str()?;
    let digits = share.strip_suffix('%').filter(|it| !it.is_empty());
    let Some(digits) = digits.filter(|it| it.bytes().all(|it| it.is_ascii_digit())) else {
        let detail = "a valid percent string must be a numeric string followed by an ending '%' \
                      (e.g. '1%',  or '93%', regex used for validation is '[0-9]+%')";
        return Some(FieldError::invalid(field, value, detail));
    };
    let above = digits.parse::<u64>().is_ok_and(|it| it > 100);
    above.then(|| FieldError::invalid(field, value, "must not be greater than 100%"))
}

fn key_faults(member: &str, key: &str) -> Vec<FieldError> {
    let faults = names::config_key(key).into_iter();
    faults.map(|it| FieldError::invalid(format!("{member}[{key}]"), &json!(key), &it)).collect()
}

fn immutable(old: &Value, new: &Value, members: &[&str]) -> Vec<FieldError> {
    if old["immutable"] != true {
        return Vec::new();
    }
    let changed = members.iter().filter(|it| old[**it] != new[**it]).copied();
    let loosened = (new["immutable"] != true).then_some("immutable");
    loosened.into_iter().chain(changed).map(|it| FieldError::forbidden(it, IMMUTABLE)).collect()
}

/// A value that must be there and hold a JSON object.
fn json_value(data: &Value, key: &str) -> Option<FieldError> {
    let field = format!("data[{key}]");
    let Some(value) = data.get(key) else { return Some(FieldError::required(field, "")) };
    let parsed = serde_json::from_slice::<serde_json::Map<String, Value>>(&decoded(value));
    let fault = parsed.err()?.to_string();
    Some(FieldError::invalid(field, &json!(REDACTED), &fault))
}

fn length(value: &Value) -> usize {
    value.as_str().map_or(0, str::len)
}

/// The bytes of a value; what is no base64 was refused before.
fn decoded(value: &Value) -> Vec<u8> {
    STANDARD.decode(value.as_str().unwrap_or_default()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(errors: &[FieldError]) -> Vec<String> {
        errors.iter().map(|it| format!("{}: {}", it.field, it.body)).collect()
    }

    #[test]
    fn keys_are_file_names_and_occur_once() {
        let map = json!({"data": {"a b": "1", "ok.yaml": "2"}, "binaryData": {"ok.yaml": "AA=="}});
        assert_eq!(
            shown(&config_map(&map)),
            [
                "data[a b]: Invalid value: \"a b\": a valid config key must consist of \
                 alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or \
                 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')",
                "data[ok.yaml]: Invalid value: \"ok.yaml\": duplicate of key present in binaryData",
            ]
        );
        let large = json!({"data": {"k": "x".repeat(MAX_SIZE + 1)}});
        assert_eq!(
            shown(&config_map(&large)),
            ["[]: Too long: may not be more than 1048576 bytes"]
        );
    }

    #[test]
    fn what_is_immutable_stays() {
        let old = json!({"immutable": true, "data": {"k": "1"}});
        assert!(changed_config_map(&old, &old).is_empty());
        let new = json!({"data": {"k": "2"}});
        let expected = ["immutable", "data"].map(|it| format!("{it}: Forbidden: {IMMUTABLE}"));
        assert_eq!(shown(&changed_config_map(&old, &new)), expected);
    }

    #[test]
    fn a_secret_has_what_its_type_needs() {
        let of = |kind: &str, data: Value| shown(&secret(&json!({"type": kind, "data": data})));
        assert_eq!(
            of("kubernetes.io/tls", json!({"tls.crt": "AA=="})),
            ["data[tls.key]: Required value"]
        );
        assert_eq!(of("kubernetes.io/basic-auth", json!({"password": ""})), [""; 0]);
        let docker = of("kubernetes.io/dockerconfigjson", json!({".dockerconfigjson": "eA=="}));
        assert!(docker[0].contains("<secret contents redacted>"), "{docker:?}");
        let opaque = json!({"type": "Opaque"});
        let changed = changed_secret(&opaque, &json!({"type": "x"}));
        assert_eq!(shown(&changed), ["type: Invalid value: \"x\": field is immutable"]);
    }

    #[test]
    fn a_lease_lasts_longer_than_nothing() {
        let bad = json!({"spec": {"leaseDurationSeconds": 0, "leaseTransitions": -1}});
        assert_eq!(
            shown(&lease(&bad)),
            [
                "spec.leaseDurationSeconds: Invalid value: 0: must be greater than 0",
                "spec.leaseTransitions: Invalid value: -1: must be greater than or equal to 0",
            ]
        );
    }

    #[test]
    fn a_budget_has_one_amount_that_makes_sense() {
        let of = |spec: Value| shown(&disruption_budget(&json!({"spec": spec})));
        assert_eq!(of(json!({"maxUnavailable": 1, "selector": {}})), [""; 0]);
        assert_eq!(
            of(json!({"minAvailable": "120%"})),
            ["spec.minAvailable: Invalid value: \"120%\": must not be greater than 100%"]
        );
        assert!(of(json!({"minAvailable": 1, "maxUnavailable": "x"})).len() == 2);
    }
}
