//! Who asks, and what they may do.
//!
//! [`Authority`] is the cluster's certificate authority, [`Tokens`] signs and reads the tokens of
//! service accounts, [`User`] is who a request comes from, and `rbac` says what roles and bindings
//! allow. The [`Api`](crate::api::Api) holds one [`Auth`], so that the server, the controllers and
//! the nodes speak of the same cluster.

mod attributes;
mod authority;
pub(crate) mod rbac;
mod tokens;
mod user;

use std::net::SocketAddr;
use std::sync::OnceLock;

use uuid::Uuid;

pub use attributes::{Attributes, ResourceTarget, Target};
pub use authority::{Authority, AuthorityError};
pub use rbac::{Decision, authorize};
pub use tokens::{AUDIENCE, BoundObject, Claims, ISSUER, Kubernetes, TokenError, Tokens};
pub use user::User;
pub(crate) use user::{
    ANONYMOUS, AUTHENTICATED, UNAUTHENTICATED, service_account_groups, service_account_of,
};

/// The keys of one cluster, all made when it starts and kept in memory.
#[derive(Debug)]
pub struct Auth {
    authority: Authority,
    front_proxy: Authority,
    tokens: Tokens,
    admin_token: String,
    https: OnceLock<SocketAddr>,
}

impl Auth {
    /// Fresh keys.
    pub(crate) fn new() -> Self {
        Self {
            authority: Authority::new("kubernetes"),
            front_proxy: Authority::new("front-proxy-ca"),
            tokens: Tokens::new(),
            admin_token: format!("{}{}", Uuid::new_v4().simple(), Uuid::new_v4().simple()),
            https: OnceLock::new(),
        }
    }

    /// The certificate authority that signs the API server's certificate.
    pub fn authority(&self) -> &Authority {
        &self.authority
    }

    /// The authority of proxies that speak for others by headers; it never signs any.
    pub(crate) fn front_proxy(&self) -> &Authority {
        &self.front_proxy
    }

    /// The key of service-account tokens.
    pub fn tokens(&self) -> &Tokens {
        &self.tokens
    }

    /// The bearer token of the administrator, for the HTTPS listener.
    pub fn admin_token(&self) -> &str {
        &self.admin_token
    }

    /// Where the API server takes HTTPS; `None` until a server listens.
    pub fn https(&self) -> Option<SocketAddr> {
        self.https.get().copied()
    }

    /// Notes where HTTPS is served; the first address stays.
    pub(crate) fn serves_https(&self, address: SocketAddr) {
        if self.https.set(address).is_err() {
            tracing::warn!(%address, "a second HTTPS listener is not the one that pods are told of");
        }
    }
}
