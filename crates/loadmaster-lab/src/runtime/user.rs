//! Who a container runs as.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use serde_json::Value;

use super::unpack::resolve;
use crate::store::text;

/// A user and a group by their numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct User {
    pub(super) uid: u32,
    pub(super) gid: u32,
}

impl User {
    /// What the container's or the pod's security context says, else the image.
    ///
    /// # Errors
    /// When the user is not known, or is root where that is ruled out; in the kubelet's words.
    pub(super) fn of(
        pod: &Value,
        container: &Value,
        image_user: &str,
        root: &Path,
    ) -> Result<Self, String> {
        let (own, whole) = (&container["securityContext"], &pod["spec"]["securityContext"]);
        let number = |member: &str| {
            let number = own[member].as_u64().or_else(|| whole[member].as_u64());
            number.and_then(|it| u32::try_from(it).ok())
        };
        let (image_uid, image_gid) = named_by_image(image_user, root);
        let uid = number("runAsUser").or(image_uid);
        let who = || {
            let name = container["name"].as_str().unwrap_or_default();
            format!("(pod: {:?}, container: {name})", pod_in_words(pod))
        };
        let non_root = own["runAsNonRoot"].as_bool().or_else(|| whole["runAsNonRoot"].as_bool());
        let Some(uid) = uid else {
            return Err(format!(
                "unable to find user {image_user}: no matching entries in passwd file"
            ));
        };
        if non_root == Some(true) && uid == 0 {
            let whose = if number("runAsUser").is_some() {
                "container's runAsUser breaks non-root policy"
            } else {
                "container has runAsNonRoot and image will run as root"
            };
            return Err(format!("{whose} {}", who()));
        }
        let gid = number("runAsGroup").or(image_gid).unwrap_or(0);
        Ok(Self { uid, gid })
    }

    /// The user that runs this program.
    pub(super) fn own() -> Self {
        Self { uid: rustix::process::getuid().as_raw(), gid: rustix::process::getgid().as_raw() }
    }

    /// Whether a plain process can become this user: root alone may change users, and the user must
    /// be able to reach the program, and the one that guards it.
    pub(super) fn can_be_taken(self, root: &Path, guard: Option<&Path>) -> bool {
        let reaches = |path: &Path| {
            path.ancestors()
                .all(|it| fs::metadata(it).is_ok_and(|it| it.permissions().mode() & 0o001 != 0))
        };
        let own = Self::own();
        own == self || (own.uid == 0 && reaches(root) && guard.is_none_or(reaches))
    }
}

/// A pod as the kubelet's messages name it.
pub(super) fn pod_in_words(pod: &Value) -> String {
    format!("{}_{}({})", text(pod, "name"), text(pod, "namespace"), text(pod, "uid"))
}

/// The numbers of an image's `USER`: `65532`, `65532:65532`, `name`, `name:group`. Without one it is
/// root.
fn named_by_image(user: &str, root: &Path) -> (Option<u32>, Option<u32>) {
    let (user, group) = user.split_once(':').unwrap_or((user, ""));
    if user.is_empty() {
        return (Some(0), Some(0));
    }
    let entry = |file: &str, name: &str| -> Option<Vec<String>> {
        let file = resolve(root, Path::new(file)).ok()?;
        let text = fs::read_to_string(file).ok()?;
        let mut lines = text.lines().map(|it| it.split(':').map(str::to_owned).collect::<Vec<_>>());
        lines.find(|it| it.first().is_some_and(|it| it == name))
    };
    let passwd = entry("etc/passwd", user);
    let field =
        |at: usize| passwd.as_ref().and_then(|it| it.get(at)).and_then(|it| it.parse().ok());
    let uid = user.parse().ok().or_else(|| field(2));
    let gid = group.parse().ok().or_else(|| {
        entry("etc/group", group).and_then(|it| it.get(2)?.parse().ok()).or_else(|| field(3))
    });
    (uid, gid)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_containers_context_counts_before_the_pods_and_both_before_the_image() {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir(root.path().join("etc")).unwrap();
        fs::write(root.path().join("etc/passwd"), "root:x:0:0::/:\nweb:x:33:34::/:\n").unwrap();
        let of = |pod: Value, container: Value, image: &str| {
            let pod = json!({"metadata": {"name": "p", "namespace": "ns", "uid": "u"},
                "spec": {"securityContext": pod}});
            let container = json!({"name": "c", "securityContext": container});
            User::of(&pod, &container, image, root.path()).map(|it| (it.uid, it.gid))
        };
        let none = || json!({});
        assert_eq!(of(none(), none(), ""), Ok((0, 0)));
        assert_eq!(of(none(), none(), "65532"), Ok((65532, 0)));
        assert_eq!(of(none(), none(), "65532:7"), Ok((65532, 7)));
        assert_eq!(of(none(), none(), "web"), Ok((33, 34)));
        let pod = json!({"runAsUser": 5, "runAsGroup": 6});
        assert_eq!(of(pod.clone(), none(), "web"), Ok((5, 6)));
        assert_eq!(of(pod, json!({"runAsUser": 8}), "web"), Ok((8, 6)));
        let refusal = of(json!({"runAsNonRoot": true}), none(), "");
        let text = "container has runAsNonRoot and image will run as root (pod: \"p_ns(u)\", container: c)";
        assert_eq!(refusal, Err(text.to_owned()));
        assert!(of(none(), none(), "nobody-knows").unwrap_err().contains("passwd"));
    }
}
