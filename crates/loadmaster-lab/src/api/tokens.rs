//! Tokens of service accounts: asked for, and shown.
//!
//! Source: `pkg/registry/core/serviceaccount/storage/token.go` and `pkg/serviceaccount` 1.36.

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use super::Api;
use crate::auth::{AUDIENCE, BoundObject, Claims, User};
use crate::resources::Collection;
use crate::status::{Details, FieldError, Status};
use crate::store::{Object, is_being_deleted, rfc3339, text};

/// How long tokens live when the request does not say, in seconds.
const DEFAULT_LIFETIME: i64 = 60 * 60;
/// The shortest life, in seconds.
const MIN_LIFETIME: i64 = 10 * 60;
/// The lifetime that admission writes into pods, in seconds: it marks tokens that may live on.
pub(super) const POD_LIFETIME: i64 = 60 * 60 + 7;
/// How long such tokens live, in seconds, for clients that read their token but once.
const EXTENDED_LIFETIME: i64 = 365 * 24 * 60 * 60;

/// The prefix of what a token adds to its user.
const EXTRA: &str = "authentication.kubernetes.io";

impl Api {
    /// Answers a `TokenRequest` for a service account, token included; `request` may leave out
    /// everything.
    ///
    /// The token is bound to what `spec.boundObjectRef` names and is worth nothing when that is
    /// gone. A pod's own token is asked for as its kubelet does:
    ///
    /// ```
    /// # use loadmaster_lab::{api::Api, resources::Collection, status::Status, store::Store};
    /// # use serde_json::json;
    /// # fn main() -> Result<(), Status> {
    /// # let api = Api::new(std::sync::Arc::new(Store::new()));
    /// # api.create(Collection::NAMESPACES.resource(), "", json!({"metadata": {"name": "ns"}}), false)?;
    /// # api.create(Collection::SERVICE_ACCOUNTS.resource(), "ns", json!({"metadata": {"name": "robot"}}), false)?;
    /// # let pod = api.create(Collection::PODS.resource(), "ns", json!({"metadata": {"name": "p"}, "spec":
    /// #     {"serviceAccountName": "robot", "containers": [{"name": "c", "image": "i:1"}]}}), false)?;
    /// let request = json!({"spec": {"expirationSeconds": 3607, "boundObjectRef": {
    ///     "apiVersion": "v1", "kind": "Pod", "name": "p", "uid": pod["metadata"]["uid"]}}});
    /// let answer = api.request_token("ns", "robot", &request)?;
    /// let token = answer["status"]["token"].as_str().unwrap_or_default();
    /// assert_eq!(api.authenticate(token).map(|it| it.name), Ok("system:serviceaccount:ns:robot".to_owned()));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As kube-apiserver: no such account or bound object, another uid than they have, a lifetime
    /// under ten minutes.
    pub fn request_token(
        &self,
        namespace: &str,
        account: &str,
        request: &Value,
    ) -> Result<Value, Status> {
        check_place(namespace, account, request)?;
        let found = self.get(Collection::SERVICE_ACCOUNTS.resource(), namespace, account)?;
        let (given, uid) = (text(request, "uid"), text(&found, "uid"));
        if !given.is_empty() && given != uid {
            let why = format!(
                "the UID in the token request ({given}) does not match the UID of the service \
                 account ({uid})"
            );
            return Err(conflict("authentication.k8s.io", "TokenRequest", account, &why));
        }
        let spec = &request["spec"];
        let seconds = spec["expirationSeconds"].as_i64().unwrap_or(DEFAULT_LIFETIME);
        let errors = lifetime_faults(seconds);
        if !errors.is_empty() {
            return Err(Status::invalid_kind("authentication.k8s.io", "TokenRequest", "", &errors));
        }
        let mut claims = Claims {
            aud: audiences(spec),
            sub: User::service_account(namespace, account, uid).name,
            ..Claims::default()
        };
        namespace.clone_into(&mut claims.kubernetes.namespace);
        claims.kubernetes.serviceaccount = bound(&found);
        self.bind_token(&mut claims, namespace, account, &spec["boundObjectRef"])?;
        let now = self.store.now();
        let mut lifetime = seconds;
        let for_server = claims.aud.iter().all(|it| it == AUDIENCE);
        if claims.kubernetes.pod.is_some() && seconds == POD_LIFETIME && for_server {
            claims.kubernetes.warnafter = Some(now.as_second().saturating_add(seconds));
            lifetime = EXTENDED_LIFETIME;
        }
        let aud = claims.aud.clone();
        let token = self.auth.tokens().sign(claims, now, SignedDuration::from_secs(lifetime));
        let end = now.saturating_add(SignedDuration::from_secs(seconds)).unwrap_or(Timestamp::MAX);
        Ok(json!({
            "kind": "TokenRequest",
            "apiVersion": "authentication.k8s.io/v1",
            "metadata": {"name": account, "namespace": namespace, "uid": uid,
                "creationTimestamp": rfc3339(now)},
            "spec": {"audiences": aud, "expirationSeconds": seconds,
                "boundObjectRef": spec["boundObjectRef"]},
            "status": {"token": token, "expirationTimestamp": rfc3339(end)},
        }))
    }

    /// Notes in the claims what the token is bound to.
    fn bind_token(
        &self,
        claims: &mut Claims,
        namespace: &str,
        account: &str,
        to: &Value,
    ) -> Result<(), Status> {
        if to.is_null() {
            return Ok(());
        }
        let member = |name: &str| to[name].as_str().unwrap_or_default();
        let (version, kind, name) = (member("apiVersion"), member("kind"), member("name"));
        let (object, slot) = match (version, kind) {
            ("v1", "Pod") => {
                let pod = self.get(Collection::PODS.resource(), namespace, name)?;
                if pod["spec"]["serviceAccountName"] != account {
                    return Err(Status::bad_request(format!(
                        "cannot bind token for serviceaccount {account:?} to pod running with \
                         different serviceaccount name."
                    )));
                }
                claims.kubernetes.node = self.node_of(&pod);
                (pod, &mut claims.kubernetes.pod)
            }
            ("v1", "Node") => {
                (self.get(Collection::NODES.resource(), "", name)?, &mut claims.kubernetes.node)
            }
            ("v1", "Secret") => {
                let secret = self.get(Collection::SECRETS.resource(), namespace, name)?;
                (secret, &mut claims.kubernetes.secret)
            }
            _ => {
                let (group, version) = version.split_once('/').unwrap_or(("", version));
                return Err(Status::bad_request(format!(
                    "cannot bind token to object of type {group}/{version}, Kind={kind}"
                )));
            }
        };
        let uid = text(&object, "uid");
        if !member("uid").is_empty() && member("uid") != uid {
            let why = format!(
                "the UID in the bound object reference ({}) does not match the UID in record. The \
                 object might have been deleted and then recreated",
                member("uid")
            );
            return Err(conflict("", kind, name, &why));
        }
        *slot = Some(bound(&object));
        Ok(())
    }

    fn node_of(&self, pod: &Value) -> Option<BoundObject> {
        let name = pod["spec"]["nodeName"].as_str().filter(|it| !it.is_empty())?;
        let node = self.store.get(Collection::NODES, "", name);
        Some(match node {
            Some(node) => bound(&node),
            None => BoundObject { name: name.to_owned(), uid: String::new() },
        })
    }

    /// Who shows this token to the API server.
    ///
    /// # Errors
    /// Why it is not believed.
    pub fn authenticate(&self, token: &str) -> Result<User, String> {
        self.authenticate_for(token, &[AUDIENCE.to_owned()]).map(|(user, _)| user)
    }

    /// Who shows this token to one of these audiences, and to which of them it speaks.
    ///
    /// # Errors
    /// Why it is not believed.
    pub(super) fn authenticate_for(
        &self,
        token: &str,
        audiences: &[String],
    ) -> Result<(User, Vec<String>), String> {
        if token == self.auth.admin_token() {
            return Ok((User::admin(), audiences.to_vec()));
        }
        let now = self.store.now();
        let claims = self.auth.tokens().read(token, now).map_err(|it| it.to_string())?;
        let heard: Vec<String> =
            audiences.iter().filter(|it| claims.aud.contains(it)).cloned().collect();
        if heard.is_empty() {
            return Err(format!(
                "token audiences {:?} is invalid for the target audiences {audiences:?}",
                claims.aud
            ));
        }
        self.check_bound(&claims, now)?;
        Ok((user_of(&claims), heard))
    }

    /// Whether everything that the token is bound to is still there.
    fn check_bound(&self, claims: &Claims, now: Timestamp) -> Result<(), String> {
        let said = &claims.kubernetes;
        let (namespace, account) = (&said.namespace, &said.serviceaccount);
        let found = self
            .store
            .get(Collection::SERVICE_ACCOUNTS, namespace, &account.name)
            .ok_or_else(|| format!("serviceaccounts {:?} not found", account.name))?;
        let uid = text(&found, "uid");
        if uid != account.uid {
            return Err(format!(
                "service account UID ({uid}) does not match claim ({})",
                account.uid
            ));
        }
        if is_gone(&found, now) {
            return Err(format!("service account {namespace}/{} has been deleted", account.name));
        }
        // The node of a pod's token only says where the pod was.
        let node = said.node.as_ref().filter(|_| said.pod.is_none());
        for (bound, collection, kind) in [
            (said.secret.as_ref(), Collection::SECRETS, "secret"),
            (said.pod.as_ref(), Collection::PODS, "pod"),
            (node, Collection::NODES, "node"),
        ] {
            let Some(bound) = bound else { continue };
            let namespace = if collection == Collection::NODES { "" } else { namespace.as_str() };
            let invalidated = || "service account token has been invalidated".to_owned();
            let found = self.store.get(collection, namespace, &bound.name);
            let found = found.ok_or_else(invalidated)?;
            let uid = text(&found, "uid");
            if uid != bound.uid {
                let (first, rest) = kind.split_at(1);
                return Err(format!(
                    "{}{rest} UID ({uid}) does not match service account {kind} ref claim ({})",
                    if kind == "secret" { first.to_owned() } else { first.to_uppercase() },
                    bound.uid
                ));
            }
            if is_gone(&found, now) {
                return Err(invalidated());
            }
        }
        Ok(())
    }
}

/// Name and namespace of the body are those of the path.
fn check_place(namespace: &str, account: &str, request: &Value) -> Result<(), Status> {
    for (member, wanted) in [("name", account), ("namespace", namespace)] {
        let given = text(request, member);
        if !given.is_empty() && given != wanted {
            let detail = format!("must match the service account {member} if specified");
            let error = FieldError::invalid(format!("metadata.{member}"), &json!(given), &detail);
            let (group, kind) = ("authentication.k8s.io", "TokenRequest");
            return Err(Status::invalid_kind(group, kind, account, &[error]));
        }
    }
    Ok(())
}

fn lifetime_faults(seconds: i64) -> Vec<FieldError> {
    let detail = if seconds < MIN_LIFETIME {
        "may not specify a duration less than 10 minutes"
    } else if seconds > 1 << 32 {
        "may not specify a duration larger than 2^32 seconds"
    } else {
        return Vec::new();
    };
    vec![FieldError::invalid("spec.expirationSeconds", &json!(seconds), detail)]
}

fn audiences(spec: &Value) -> Vec<String> {
    let given: Vec<String> = crate::values::list(spec, "/audiences")
        .iter()
        .filter_map(|it| it.as_str().map(str::to_owned))
        .collect();
    if given.is_empty() { vec![AUDIENCE.to_owned()] } else { given }
}

fn bound(object: &Object) -> BoundObject {
    BoundObject { name: text(object, "name").to_owned(), uid: text(object, "uid").to_owned() }
}

/// Whether an object's deletion was due more than a minute ago.
fn is_gone(object: &Value, now: Timestamp) -> bool {
    let deadline = text(object, "deletionTimestamp").parse::<Timestamp>();
    let late = now.saturating_sub(SignedDuration::from_secs(60)).unwrap_or(now);
    is_being_deleted(object) && deadline.is_ok_and(|it| it < late)
}

fn user_of(claims: &Claims) -> User {
    let said = &claims.kubernetes;
    let account = &said.serviceaccount;
    let mut user = User::service_account(&said.namespace, &account.name, &account.uid);
    let mut add = |name: &str, value: &str| {
        if !value.is_empty() {
            user.extra.insert(format!("{EXTRA}/{name}"), vec![value.to_owned()]);
        }
    };
    add("credential-id", &format!("JTI={}", claims.jti));
    if let Some(pod) = &said.pod {
        add("pod-name", &pod.name);
        add("pod-uid", &pod.uid);
    }
    if let Some(node) = &said.node {
        add("node-name", &node.name);
        add("node-uid", &node.uid);
    }
    user
}

/// 409 about something that is named by its kind.
fn conflict(group: &str, kind: &str, name: &str, why: &str) -> Status {
    let dot = if group.is_empty() { "" } else { "." };
    let message = format!("Operation cannot be fulfilled on {kind}{dot}{group} {name:?}: {why}");
    Status::new(409, "Conflict", message).with_details(Details {
        name: name.to_owned(),
        group: group.to_owned(),
        kind: kind.to_owned(),
        ..Details::default()
    })
}

#[cfg(test)]
mod tests;
