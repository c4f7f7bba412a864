//! Who a request comes from.

use std::collections::BTreeMap;

use serde_json::{Value, json};

/// Members of this group may do everything, whatever the roles say.
const MASTERS: &str = "system:masters";
/// Everybody who gave credentials.
pub(crate) const AUTHENTICATED: &str = "system:authenticated";
/// Everybody who gave none.
pub(crate) const UNAUTHENTICATED: &str = "system:unauthenticated";
/// The name of who gave no credentials.
pub(crate) const ANONYMOUS: &str = "system:anonymous";
/// The prefix of the names of service accounts.
const SERVICE_ACCOUNT: &str = "system:serviceaccount:";

/// Who asks: what authentication found out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct User {
    /// The name, which bindings refer to.
    pub name: String,
    /// A name that is never used again; may be empty.
    pub uid: String,
    /// The groups, which bindings refer to as well.
    pub groups: Vec<String>,
    /// Anything else, such as the pod that a token was made for.
    pub extra: BTreeMap<String, Vec<String>>,
}

impl User {
    /// The administrator of the lab.
    pub fn admin() -> Self {
        Self::named("admin", &[MASTERS, AUTHENTICATED])
    }

    /// Somebody without credentials.
    pub fn anonymous() -> Self {
        Self::named(ANONYMOUS, &[UNAUTHENTICATED])
    }

    /// A service account with its groups.
    pub fn service_account(namespace: &str, name: &str, uid: &str) -> Self {
        let mut user = Self { name: service_account_name(namespace, name), ..Self::default() };
        uid.clone_into(&mut user.uid);
        user.groups = service_account_groups(namespace);
        user.groups.push(AUTHENTICATED.to_owned());
        user
    }

    /// A user with these groups and nothing else.
    pub(crate) fn named(name: &str, groups: &[&str]) -> Self {
        let groups = groups.iter().map(|it| (*it).to_owned()).collect();
        Self { name: name.to_owned(), groups, ..Self::default() }
    }

    /// Whether no role is needed.
    pub fn is_master(&self) -> bool {
        self.is_in(MASTERS)
    }

    /// Whether the user is in this group.
    pub fn is_in(&self, group: &str) -> bool {
        self.groups.iter().any(|it| it == group)
    }

    /// As `UserInfo` of the authentication API; what is empty is left out.
    pub fn to_value(&self) -> Value {
        let mut info = json!({});
        if !self.name.is_empty() {
            info["username"] = json!(self.name);
        }
        if !self.uid.is_empty() {
            info["uid"] = json!(self.uid);
        }
        if !self.groups.is_empty() {
            info["groups"] = json!(self.groups);
        }
        if !self.extra.is_empty() {
            info["extra"] = json!(self.extra);
        }
        info
    }
}

/// The groups of a namespace's service accounts, but for those of everybody.
pub(crate) fn service_account_groups(namespace: &str) -> Vec<String> {
    vec!["system:serviceaccounts".to_owned(), format!("system:serviceaccounts:{namespace}")]
}

/// The user name of a service account.
pub(crate) fn service_account_name(namespace: &str, name: &str) -> String {
    format!("{SERVICE_ACCOUNT}{namespace}:{name}")
}

/// Namespace and name of the service account with this user name, if it is one.
pub(crate) fn service_account_of(user_name: &str) -> Option<(&str, &str)> {
    let (namespace, name) = user_name.strip_prefix(SERVICE_ACCOUNT)?.split_once(':')?;
    (!namespace.is_empty() && !name.is_empty() && !name.contains(':')).then_some((namespace, name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_service_account_is_known_by_its_user_name() {
        let user = User::service_account("ns", "robot", "u1");
        assert_eq!(user.name, "system:serviceaccount:ns:robot");
        assert_eq!(
            user.groups,
            ["system:serviceaccounts", "system:serviceaccounts:ns", "system:authenticated"]
        );
        assert_eq!(service_account_of(&user.name), Some(("ns", "robot")));
        for other in ["robot", "system:serviceaccount:ns", "system:serviceaccount::x"] {
            assert_eq!(service_account_of(other), None, "{other}");
        }
    }
}
