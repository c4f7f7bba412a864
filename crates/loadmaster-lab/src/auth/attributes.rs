//! What a request wants to do, in the words of authorization.

use crate::status::{Details, Status};

/// A verb and what it is done to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attributes {
    /// `get`, `list`, `create`, …; for paths the method in small letters.
    pub verb: String,
    /// What it is done to.
    pub target: Target,
}

/// What a verb is done to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// Objects of the API.
    Resource(ResourceTarget),
    /// Any other path, `/healthz` for one.
    Path(String),
}

/// Objects of the API; what is empty is not named.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ResourceTarget {
    /// The API group.
    pub group: String,
    /// The plural resource.
    pub resource: String,
    /// What is below the object.
    pub subresource: String,
    /// The namespace.
    pub namespace: String,
    /// The object.
    pub name: String,
}

impl ResourceTarget {
    /// `pods`, `pods/status`: as rules name it.
    pub fn combined(&self) -> String {
        if self.subresource.is_empty() {
            self.resource.clone()
        } else {
            format!("{}/{}", self.resource, self.subresource)
        }
    }
}

impl Attributes {
    /// A verb on objects.
    pub fn on(verb: &str, target: ResourceTarget) -> Self {
        Self { verb: verb.to_owned(), target: Target::Resource(target) }
    }

    /// The namespace in which roles are looked for, empty for none.
    pub fn namespace(&self) -> &str {
        match &self.target {
            Target::Resource(target) => &target.namespace,
            Target::Path(_) => "",
        }
    }

    /// 403 for a user who may not do this; `reason` says more, if there is more.
    pub fn refusal(&self, user: &str, reason: &str) -> Status {
        let user = format!("{user:?}");
        let verb = &self.verb;
        let (what, details) = match &self.target {
            Target::Path(path) => {
                (format!("User {user} cannot {verb} path {path:?}"), Details::default())
            }
            Target::Resource(target) => {
                let scope = match target.namespace.as_str() {
                    "" => "at the cluster scope".to_owned(),
                    namespace => format!("in the namespace {namespace:?}"),
                };
                let text = format!(
                    "User {user} cannot {verb} resource {:?} in API group {:?} {scope}",
                    target.combined(),
                    target.group
                );
                let details = Details {
                    name: target.name.clone(),
                    group: target.group.clone(),
                    kind: target.resource.clone(),
                    ..Details::default()
                };
                (text, details)
            }
        };
        // An answer must not look like HTML, whatever a name holds.
        let mut what = what.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
        if !reason.is_empty() {
            what = format!("{what}: {reason}");
        }
        let subject = subject(&details);
        Status::new(403, "Forbidden", format!("{subject}forbidden: {what}")).with_details(details)
    }
}

/// `pods "x" is `, `pods is `, or nothing for a path.
fn subject(details: &Details) -> String {
    if details.kind.is_empty() {
        return String::new();
    }
    let dot = if details.group.is_empty() { "" } else { "." };
    let resource = format!("{}{dot}{}", details.kind, details.group);
    if details.name.is_empty() {
        format!("{resource} is ")
    } else {
        format!("{resource} {:?} is ", details.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(verb: &str, target: ResourceTarget) -> String {
        Attributes::on(verb, target).refusal("eve", "").message
    }

    #[test]
    fn a_refusal_says_who_what_and_where() {
        let pods = ResourceTarget { resource: "pods".into(), ..ResourceTarget::default() };
        assert_eq!(
            refused("list", pods.clone()),
            "pods is forbidden: User \"eve\" cannot list resource \"pods\" in API group \"\" at the \
             cluster scope"
        );
        let status = ResourceTarget {
            group: "apps".into(),
            resource: "deployments".into(),
            subresource: "status".into(),
            namespace: "ns".into(),
            name: "web".into(),
        };
        assert_eq!(
            refused("patch", status),
            "deployments.apps \"web\" is forbidden: User \"eve\" cannot patch resource \
             \"deployments/status\" in API group \"apps\" in the namespace \"ns\""
        );
        let path = Attributes { verb: "get".into(), target: Target::Path("/metrics".into()) };
        let refusal = path.refusal("eve", "");
        assert_eq!(refusal.message, "forbidden: User \"eve\" cannot get path \"/metrics\"");
        let because = Attributes::on("list", pods).refusal("a<b", "RBAC: why").message;
        assert!(because.contains("User \"a&lt;b\" cannot") && because.ends_with(": RBAC: why"));
    }
}
