//! Who holds a lease.

use jiff::{SignedDuration, Timestamp};
use serde::Deserialize;

use crate::{
    kind::resource_path,
    rest::{CallError, Rest},
};

/// A lease as it stands.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct LeaseState {
    /// Who holds it; empty after a clean end.
    pub holder_identity: String,
    /// Since when.
    pub acquire_time: Option<Timestamp>,
    /// When it was last renewed.
    pub renew_time: Option<Timestamp>,
    /// For how long a renewal holds, in seconds.
    pub lease_duration_seconds: i64,
    /// How often the holder has changed.
    pub lease_transitions: i64,
}

impl LeaseState {
    /// Whether somebody holds it at `now`, as far as clocks agree.
    pub fn is_live(&self, now: Timestamp) -> bool {
        let until = self.renew_time.and_then(|it| {
            it.checked_add(SignedDuration::from_secs(self.lease_duration_seconds)).ok()
        });
        !self.holder_identity.is_empty() && until.is_some_and(|it| it > now)
    }

    /// The machine or pod of the holder: upstream's identities are `HOST_UUID`.
    pub fn holder_host(&self) -> &str {
        self.holder_identity.rsplit_once('_').map_or(&*self.holder_identity, |it| it.0)
    }
}

/// The lease of this name; `None` where there is none.
///
/// # Errors
/// [`CallError`] where it may not be read or the server does not answer.
pub async fn lease(
    rest: &Rest,
    namespace: &str,
    name: &str,
) -> Result<Option<LeaseState>, CallError> {
    #[derive(Deserialize)]
    struct Lease {
        #[serde(default)]
        spec: LeaseState,
    }
    let path = resource_path("coordination.k8s.io/v1", "leases", namespace);
    match rest.get(&format!("{path}/{name}")).await {
        Ok(Lease { spec }) => Ok(Some(spec)),
        Err(error) if error.code() == Some(404) => Ok(None),
        Err(error) => Err(error),
    }
}
