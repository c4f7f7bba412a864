//! What a plugin's writes need to be allowed.

use crate::api::Text;

/// What the API server must allow for a plugin's actions. Reading is not declared here: it follows
/// from the events that the plugin registers for, from what it [reads](crate::HooksOf::reads), and
/// from its feeds.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Access {
    /// API group; empty for the core group.
    pub group: Text,
    /// Plural name of the kind.
    pub resource: Text,
    /// Part of the object, as `status`; empty for the object itself.
    pub subresource: Text,
    /// The API's verbs, as `patch`.
    pub verbs: Vec<Text>,
}

impl Access {
    /// Allows `verbs` on `resource`, which is `things` or `things/part`, of `group`.
    pub fn new(group: &str, resource: &str, verbs: &[&str]) -> Self {
        let (resource, subresource) = resource.split_once('/').unwrap_or((resource, ""));
        Self {
            group: group.into(),
            resource: resource.into(),
            subresource: subresource.into(),
            verbs: verbs.iter().map(|it| Text::from(*it)).collect(),
        }
    }
}
