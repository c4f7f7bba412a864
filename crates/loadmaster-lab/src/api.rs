//! What can be done to the cluster, without a transport: the rules of create, update, patch,
//! delete and the subresources.
//!
//! The HTTP server and the controllers both go through [`Api`], so a pod that a replica set makes
//! is defaulted, admitted and validated exactly like one that a client posts. Reads, watches and
//! plain bookkeeping of controllers (status counters, finalizers) use the [`Store`] directly.
//!
//! A write runs: shape ([`views`]), identity, defaults, admission, validation, store.

mod admission;
mod apply;
mod binding;
mod create;
mod delete;
mod eviction;
mod lifecycle;
mod reviews;
mod scale;
mod service_accounts;
mod tokens;
mod update;
pub mod views;

pub use delete::{DeleteOptions, Deleted, Propagation};
pub(crate) use update::creates_by_put;
pub use update::{FieldValidation, Part, PatchRequest, Written};

use std::sync::{Arc, Mutex};

use crate::auth::Auth;
use crate::resources::Resource;
use crate::runtime::LogBook;
use crate::status::Status;
use crate::store::{Object, Store};

/// The operations on one store.
#[derive(Clone, Debug)]
pub struct Api {
    store: Arc<Store>,
    applied: Arc<apply::Ownership>,
    /// One create at a time where a quota is counted, so that two cannot share what is left.
    quota_turn: Arc<Mutex<()>>,
    auth: Arc<Auth>,
    /// Whether pods get a service account and its token, as admission gives them.
    service_accounts: bool,
    logs: Arc<LogBook>,
}

impl Api {
    /// The operations on `store`.
    pub fn new(store: Arc<Store>) -> Self {
        let auth = Arc::new(Auth::new());
        let (applied, quota_turn, logs) = Default::default();
        Self { store, applied, quota_turn, auth, service_accounts: false, logs }
    }

    /// The same operations with the `ServiceAccount` admission plugin, which gives every pod a
    /// service account and its token. Without controllers it is better off: nobody makes the
    /// accounts.
    #[must_use]
    pub fn with_service_accounts(mut self) -> Self {
        self.service_accounts = true;
        self
    }

    /// The state that everything works on.
    pub fn store(&self) -> &Arc<Store> {
        &self.store
    }

    /// The cluster's certificate authority, and the key of its tokens.
    pub fn auth(&self) -> &Auth {
        &self.auth
    }

    /// What the containers that really run have printed.
    pub fn logs(&self) -> &LogBook {
        &self.logs
    }

    /// One object, in the shape of the resource that it is read through.
    ///
    /// # Errors
    /// 404.
    pub fn get(&self, resource: &Resource, namespace: &str, name: &str) -> Result<Object, Status> {
        self.store
            .get(resource.collection, namespace, name)
            .map(|it| views::from_stored(resource, &it))
            .ok_or_else(|| Status::not_found(resource, name))
    }
}

#[cfg(test)]
mod tests;
