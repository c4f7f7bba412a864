//! What the cluster says of tokens and of access, remembered for a while.

use std::time::Duration;

use http::Method;
use loadmaster_k8s::rest::Rest;
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::{remembered::Remembered, who::User};
use crate::app::ServingFlags;

/// A token is remembered by its digest alone.
type TokenDigest = [u8; 32];

/// Asks the cluster.
#[derive(Debug)]
pub(super) struct Reviews {
    for_tokens: Rest,
    for_access: Rest,
    tokens: Remembered<TokenDigest, Option<User>>,
    accesses: Remembered<String, AccessAnswer>,
    token_ttl: Duration,
    authorized_ttl: Duration,
    unauthorized_ttl: Duration,
}

/// `SubjectAccessReview.status`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub(super) struct AccessAnswer {
    pub(super) allowed: bool,
    pub(super) denied: bool,
    pub(super) reason: String,
}

/// `TokenReview.status`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
struct TokenAnswer {
    authenticated: bool,
    user: User,
    error: String,
}

/// Questions longer than this are put each time anew (upstream: `shouldCache`).
const QUESTION_MAX: usize = 10_000;

impl Reviews {
    pub(super) fn new(flags: &ServingFlags, for_tokens: Rest, for_access: Rest) -> Self {
        Self {
            for_tokens,
            for_access,
            tokens: Remembered::new(),
            accesses: Remembered::new(),
            token_ttl: flags.authentication_token_webhook_cache_ttl.to_std(),
            authorized_ttl: flags.authorization_webhook_cache_authorized_ttl.to_std(),
            unauthorized_ttl: flags.authorization_webhook_cache_unauthorized_ttl.to_std(),
        }
    }

    /// Whose token it is; `None` is nobody's.
    ///
    /// # Errors
    /// Why the cluster did not say.
    pub(super) async fn token(&self, token: &str) -> Result<Option<User>, String> {
        let digest: TokenDigest = Sha256::digest(token.as_bytes()).into();
        if let Some(known) = self.tokens.get(&digest) {
            return Ok(known);
        }
        let question = json!({
            "apiVersion": "authentication.k8s.io/v1",
            "kind": "TokenReview",
            "spec": {"token": token},
        });
        let path = "/apis/authentication.k8s.io/v1/tokenreviews";
        let answer: TokenAnswer = ask(&self.for_tokens, path, &question).await?;
        if !answer.authenticated && !answer.error.is_empty() {
            tracing::debug!(error = answer.error, "a token was refused");
        }
        let user = answer.authenticated.then_some(answer.user);
        self.tokens.put(digest, user.clone(), self.token_ttl);
        Ok(user)
    }

    /// Whether `user` may `verb` the path.
    ///
    /// # Errors
    /// Why the cluster did not say.
    pub(super) async fn access(
        &self,
        user: &User,
        verb: &str,
        path: &str,
    ) -> Result<AccessAnswer, String> {
        let mut spec = json!({
            "user": user.username,
            "groups": user.groups,
            "nonResourceAttributes": {"path": path, "verb": verb},
        });
        if !user.uid.is_empty() {
            spec["uid"] = json!(user.uid);
        }
        if !user.extra.is_empty() {
            spec["extra"] = json!(user.extra);
        }
        let key = spec.to_string();
        if let Some(known) = self.accesses.get(&key) {
            return Ok(known);
        }
        let question = json!({
            "apiVersion": "authorization.k8s.io/v1",
            "kind": "SubjectAccessReview",
            "spec": spec,
        });
        let at = "/apis/authorization.k8s.io/v1/subjectaccessreviews";
        let answer: AccessAnswer = ask(&self.for_access, at, &question).await?;
        if key.len() < QUESTION_MAX {
            let ttl = if answer.allowed { self.authorized_ttl } else { self.unauthorized_ttl };
            self.accesses.put(key, answer.clone(), ttl);
        }
        Ok(answer)
    }
}

/// Creates a review; its status.
async fn ask<T: DeserializeOwned>(rest: &Rest, path: &str, question: &Value) -> Result<T, String> {
    #[derive(Deserialize)]
    struct Review<T> {
        status: T,
    }
    let answer = rest.call(Method::POST, path, "application/json", Some(question)).await;
    let answer = answer.map_err(|error| error.to_string())?;
    let review: Review<T> = serde_json::from_slice(&answer)
        .map_err(|error| format!("the review cannot be read: {error}"))?;
    Ok(review.status)
}
