//! How a reload ended.

/// How a reload ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ReloadResult {
    /// The new configuration is in use.
    Applied,
    /// It is in use but for fields that need a restart.
    RestartNeeded,
    /// It cannot be used; the old one stays.
    Refused,
}

impl ReloadResult {
    /// The label's value.
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Applied => "applied",
            Self::RestartNeeded => "restart_needed",
            Self::Refused => "refused",
        }
    }
}
