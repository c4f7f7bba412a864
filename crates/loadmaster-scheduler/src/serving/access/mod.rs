//! Who asks, and whether they may: the cluster says both.
//!
//! Source: apiserver, `pkg/authentication/authenticatorfactory/delegating.go`,
//! `pkg/server/options/authorization.go` and `pkg/endpoints/filters`, v1.36.

mod remembered;
mod review;
mod trust;
mod who;

use std::{path::Path, sync::Arc, time::Duration};

use anyhow::Context;
use http::HeaderMap;
use loadmaster_k8s::{
    client::{self, ClientOptions},
    rest::Rest,
};
use rustls::pki_types::CertificateDer;

use crate::app::ServingFlags;
use review::Reviews;
use trust::Trust;
use who::User;

/// How long a review may take (upstream: `TokenRequestTimeout`, `ClientTimeout`).
const REVIEW_LIMIT: Duration = Duration::from_secs(10);

/// Who may ask for what.
#[derive(Debug)]
pub(super) struct Access {
    trust: Trust,
    reviews: Reviews,
    always_allowed: Vec<String>,
}

/// Whether a request is answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Decision {
    /// It is.
    Allowed,
    /// Who asks showed something that is not believed.
    Unauthorized,
    /// Who asks may not.
    Forbidden {
        /// Who.
        user: String,
        /// Why not, in the cluster's words.
        reason: String,
    },
    /// The cluster could not be asked.
    Unknown(String),
}

/// Whose requests need no review (upstream: `AlwaysAllowGroups`).
const MASTERS: &str = "system:masters";

impl Access {
    /// What the flags ask for; reviews go through `rest`, unless the flags name others.
    ///
    /// # Errors
    /// Files that cannot be used, or a cluster that does not tell its authorities, where that is not
    /// to be tolerated.
    pub(super) async fn new(flags: &ServingFlags, rest: &Rest) -> anyhow::Result<Self> {
        let by = |file, flag| other_client(file, flag, rest);
        let for_tokens =
            by(flags.authentication_kubeconfig.as_deref(), "--authentication-kubeconfig").await?;
        let for_access =
            by(flags.authorization_kubeconfig.as_deref(), "--authorization-kubeconfig").await?;
        Ok(Self {
            trust: Trust::new(flags, for_tokens.clone()).await?,
            reviews: Reviews::new(flags, for_tokens, for_access),
            always_allowed: flags
                .authorization_always_allow_paths
                .iter()
                .map(|it| it.trim_start_matches('/').to_owned())
                .collect(),
        })
    }

    /// Whether the client may `verb` the path.
    pub(super) async fn decide(
        &self,
        verb: &str,
        path: &str,
        headers: &HeaderMap,
        certificates: &[CertificateDer<'static>],
    ) -> Decision {
        let user = match self.authenticate(headers, certificates).await {
            Ok(user) => user,
            Err(why) => {
                tracing::debug!(why, "a request is from nobody that is known");
                return Decision::Unauthorized;
            }
        };
        if user.groups.iter().any(|it| it == MASTERS) || self.always_allows(path) {
            return Decision::Allowed;
        }
        match self.reviews.access(&user, verb, path).await {
            Ok(answer) if answer.allowed && !answer.denied => Decision::Allowed,
            Ok(answer) => Decision::Forbidden { user: user.username, reason: answer.reason },
            Err(why) => Decision::Unknown(why),
        }
    }

    /// Keeps the authorities as the files and the cluster have them.
    pub(super) async fn keep_fresh(self: Arc<Self>) {
        self.trust.keep_fresh().await;
    }

    /// Who asks: the first way that finds somebody counts; nobody at all is `system:anonymous`, but
    /// for somebody who showed what is not believed.
    async fn authenticate(
        &self,
        headers: &HeaderMap,
        certificates: &[CertificateDer<'static>],
    ) -> Result<User, String> {
        let trusted = self.trust.current();
        let mut refused = Vec::new();
        for found in [
            trusted.behind_proxy(headers, certificates),
            trusted.by_certificate(certificates),
            self.by_token(headers).await,
        ] {
            match found {
                Ok(Some(user)) => return Ok(user.authenticated()),
                Ok(None) => {}
                Err(why) => refused.push(why),
            }
        }
        if refused.is_empty() { Ok(User::anonymous()) } else { Err(refused.join(", ")) }
    }

    async fn by_token(&self, headers: &HeaderMap) -> Result<Option<User>, String> {
        let Some(token) = who::bearer_token(headers) else { return Ok(None) };
        match self.reviews.token(token).await? {
            Some(user) => Ok(Some(user)),
            None => Err("invalid bearer token".to_owned()),
        }
    }

    fn always_allows(&self, path: &str) -> bool {
        let path = path.trim_start_matches('/');
        self.always_allowed.iter().any(|it| match it.strip_suffix('*') {
            Some(prefix) => path.starts_with(prefix),
            None => path == it,
        })
    }
}

/// Calls by the kubeconfig that a flag names, or by the scheduler's own.
async fn other_client(file: Option<&Path>, flag: &str, own: &Rest) -> anyhow::Result<Rest> {
    let Some(file) = file else { return Ok(own.with_limit(REVIEW_LIMIT)) };
    let options = ClientOptions {
        kubeconfig: Some((file.to_owned(), flag.to_owned())),
        ..ClientOptions::default()
    };
    let found = client::find(&options, REVIEW_LIMIT).await;
    Ok(found.with_context(|| format!("the cluster of {flag} cannot be asked"))?.rest)
}
