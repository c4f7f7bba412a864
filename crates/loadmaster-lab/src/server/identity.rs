//! From the headers of a request to who sends it.
//!
//! Source: `pkg/endpoints/filters/authentication.go` and `impersonation` of apiserver 1.36.

use http::HeaderMap;
use http::header::AUTHORIZATION;

use crate::api::Api;
use crate::auth::User;
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
