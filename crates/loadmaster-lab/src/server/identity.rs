//! From the headers of a request to who sends it.
//!
//! Source: `pkg/endpoints/filters/authentication.go` and `impersonation` of apiserver 1.36.

use std::collections::BTreeMap;

use http::HeaderMap;
use http::header::AUTHORIZATION;

use super::route::percent_decoded;
use crate::api::Api;
use crate::auth::{
    ANONYMOUS, AUTHENTICATED, Attributes, ResourceTarget, UNAUTHENTICATED, User, authorize,
    service_account_groups, service_account_of,
};
use crate::status::Status;

/// Who sends a request with these headers. Who gives no credentials is the administrator where the
/// listener is `trusting`, and anonymous elsewhere.
///
/// # Errors
/// 401 for credentials that are not believed.
pub(super) fn authenticate(api: &Api, headers: &HeaderMap, trusting: bool) -> Result<User, Status> {
    let nobody = || if trusting { User::admin() } else { User::anonymous() };
    let Some(token) = bearer_token(headers) else { return Ok(nobody()) };
    api.authenticate(token).map_err(|error| {
        tracing::debug!(error, "a token was not believed");
        Status::new(401, "Unauthorized", "Unauthorized")
    })
}

/// The token of an `Authorization: Bearer` header; another scheme counts as no credentials.
fn bearer_token(headers: &HeaderMap) -> Option<&str> {
    let header = headers.get(AUTHORIZATION)?.to_str().ok()?.trim();
    let (scheme, token) = header.split_once(' ')?;
    let token = token.trim_start();
    (scheme.eq_ignore_ascii_case("bearer") && !token.is_empty()).then_some(token)
}

/// Whom the user speaks for, by `Impersonate-User` and its kin; the user, where there are none.
///
/// # Errors
/// 403 for what the user may not impersonate, 400 for headers that need a user and have none.
pub(super) fn impersonate(api: &Api, user: User, headers: &HeaderMap) -> Result<User, Status> {
    let texts = |name: &str| -> Vec<&str> {
        headers.get_all(name).iter().filter_map(|it| it.to_str().ok()).collect()
    };
    let (names, groups, uids) =
        (texts("impersonate-user"), texts("impersonate-group"), texts("impersonate-uid"));
    let extra = extra_of(headers);
    let name = names.first().copied().unwrap_or_default();
    if name.is_empty() {
        if groups.is_empty() && uids.is_empty() && extra.is_empty() {
            return Ok(user);
        }
        let what = [groups, uids].concat().join(", ");
        return Err(Status::bad_request(format!(
            "requested [{what}] without impersonating a user"
        )));
    }
    let account = service_account_of(name);
    let on = |group: &str, resource: &str, below: &str, namespace: &str, name: &str| {
        let target = ResourceTarget {
            group: group.to_owned(),
            resource: resource.to_owned(),
            subresource: below.to_owned(),
            namespace: namespace.to_owned(),
            name: name.to_owned(),
        };
        allow(api, &user, &Attributes::on("impersonate", target))
    };
    match account {
        Some((namespace, name)) => on("", "serviceaccounts", "", namespace, name)?,
        None => on("", "users", "", "", name)?,
    }
    for group in &groups {
        on("", "groups", "", "", group)?;
    }
    for (key, values) in &extra {
        for value in values {
            on("authentication.k8s.io", "userextras", key, "", value)?;
        }
    }
    for uid in &uids {
        on("authentication.k8s.io", "uids", "", "", uid)?;
    }
    let mut next = User::named(name, &groups);
    if let (Some((namespace, _)), true) = (account, groups.is_empty()) {
        next.groups = service_account_groups(namespace);
    }
    uids.first().copied().unwrap_or_default().clone_into(&mut next.uid);
    next.extra = extra;
    if name == ANONYMOUS {
        if !next.is_in(UNAUTHENTICATED) {
            next.groups.push(UNAUTHENTICATED.to_owned());
        }
    } else if !next.is_in(AUTHENTICATED) && !next.is_in(UNAUTHENTICATED) {
        next.groups.push(AUTHENTICATED.to_owned());
    }
    Ok(next)
}

/// The values of `Impersonate-Extra-…` headers by what follows.
fn extra_of(headers: &HeaderMap) -> BTreeMap<String, Vec<String>> {
    let mut extra = BTreeMap::<String, Vec<String>>::new();
    for (name, value) in headers {
        let Some(key) = name.as_str().strip_prefix("impersonate-extra-") else { continue };
        if let Ok(value) = value.to_str() {
            extra.entry(percent_decoded(key)).or_default().push(value.to_owned());
        }
    }
    extra
}

/// Lets pass what the user may do.
///
/// # Errors
/// 403.
pub(super) fn allow(api: &Api, user: &User, what: &Attributes) -> Result<(), Status> {
    let decision = authorize(api.store(), user, what);
    if decision.allowed { Ok(()) } else { Err(what.refusal(&user.name, &decision.reason)) }
}
