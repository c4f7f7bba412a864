//! How a pod reaches the API server: its address, whose certificates to trust, and a token.

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use crate::api::Api;
use crate::store::text;

/// How long a token lasts where the volume does not say, in seconds.
const LIFETIME: i64 = 3600;

/// Where the API server serves HTTPS, and whose certificates it shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Access {
    pub(super) host: String,
    pub(super) port: u16,
    /// The authority's certificate, as PEM.
    pub(super) ca_pem: String,
}

impl Access {
    /// The cluster's own; `None` while it serves no HTTPS.
    pub(super) fn of(api: &Api) -> Option<Self> {
        let address = api.auth().https()?;
        let ca_pem = api.auth().authority().ca_pem().to_owned();
        Some(Self { host: address.ip().to_string(), port: address.port(), ca_pem })
    }

    #[cfg(test)]
    pub(super) fn fixed(host: &str, port: u16) -> Self {
        Self { host: host.to_owned(), port, ca_pem: String::new() }
    }
}

/// A token of the pod's service account, bound to the pod, and when to replace it: after four fifths
/// of its life, as the kubelet does.
///
/// # Errors
/// What the API server answers, such as that there is no such service account.
pub(super) fn token(
    api: &Api,
    pod: &Value,
    source: &Value,
    now: Timestamp,
) -> Result<(String, Timestamp), String> {
    let account = pod["spec"]["serviceAccountName"].as_str().filter(|it| !it.is_empty());
    let account = account.unwrap_or("default");
    let seconds = source["expirationSeconds"].as_i64().unwrap_or(LIFETIME);
    let mut spec = json!({"expirationSeconds": seconds, "boundObjectRef": {"apiVersion": "v1",
        "kind": "Pod", "name": text(pod, "name"), "uid": text(pod, "uid")}});
    if let Some(audience) = source["audience"].as_str().filter(|it| !it.is_empty()) {
        spec["audiences"] = json!([audience]);
    }
    let request = json!({"spec": spec});
    let answer = api.request_token(text(pod, "namespace"), account, &request);
    let answer = answer.map_err(|status| format!("failed to fetch token: {}", status.message))?;
    let token = answer["status"]["token"].as_str().unwrap_or_default().to_owned();
    Ok((token, now + SignedDuration::from_secs(seconds * 4 / 5)))
}
