//! What a pod's environment and volumes may name: its own fields, config maps and secrets.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

use crate::api::Api;
use crate::defaults::quantity_nanos;
use crate::resources::Collection;
use crate::store::{Object, text};
use crate::values::list;

/// The value of a field of the pod, by the paths that the API lets pods name.
pub(super) fn field(pod: &Value, path: &str) -> Option<String> {
    let member = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let status = &pod["status"];
    Some(match path {
        "metadata.name" | "metadata.namespace" | "metadata.uid" => {
            text(pod, path.trim_start_matches("metadata.")).to_owned()
        }
        "metadata.labels" => lines(&pod["metadata"]["labels"]),
        "metadata.annotations" => lines(&pod["metadata"]["annotations"]),
        "spec.nodeName" => member(&pod["spec"]["nodeName"]),
        "spec.serviceAccountName" => member(&pod["spec"]["serviceAccountName"]),
        "status.hostIP" => member(&status["hostIP"]),
        "status.podIP" => member(&status["podIP"]),
        "status.hostIPs" => addresses(pod, "/status/hostIPs"),
        "status.podIPs" => addresses(pod, "/status/podIPs"),
        _ => {
            let (map, key) = path.strip_suffix("']")?.split_once("['")?;
            let map = map.strip_prefix("metadata.")?;
            member(&pod["metadata"][map][key])
        }
    })
}

fn addresses(pod: &Value, pointer: &str) -> String {
    let each = list(pod, pointer).iter().filter_map(|it| it["ip"].as_str());
    each.collect::<Vec<_>>().join(",")
}

/// Labels or annotations as a file has them.
fn lines(map: &Value) -> String {
    let each = map.as_object().into_iter().flatten();
    let lines = each.map(|(key, value)| format!("{key}={:?}", value.as_str().unwrap_or_default()));
    lines.collect::<Vec<_>>().join("\n")
}

/// What a container may use, or asks for, of a resource, in units of the divisor, rounded up. What
/// is not limited is limited by the node.
pub(super) fn resource(
    pod: &Value,
    node: &Value,
    container: &str,
    source: &Value,
) -> Option<String> {
    let name = source["containerName"].as_str().unwrap_or(container);
    let containers = list(pod, "/spec/containers").iter().chain(list(pod, "/spec/initContainers"));
    let found = containers.into_iter().find(|it| it["name"] == name)?;
    let (kind, resource) = source["resource"].as_str()?.split_once('.')?;
    let own = &found["resources"][kind][resource];
    let amount = if own.is_null() && kind == "limits" {
        &node["status"]["allocatable"][resource]
    } else {
        own
    };
    let amount = quantity_nanos(amount).unwrap_or_default();
    let divisor = quantity_nanos(&source["divisor"]).filter(|it| *it > 0).unwrap_or(1_000_000_000);
    Some((amount.div_euclid(divisor) + i128::from(amount % divisor != 0)).to_string())
}

/// Why a value cannot be had, in the kubelet's words.
pub(super) type Missing = String;

/// Keys and values.
type Entries = Vec<(String, Vec<u8>)>;

/// A config map or a secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    ConfigMap,
    Secret,
}

impl Kind {
    fn collection(self) -> Collection {
        match self {
            Self::ConfigMap => Collection::CONFIG_MAPS,
            Self::Secret => Collection::SECRETS,
        }
    }

    fn names(self) -> (&'static str, &'static str) {
        match self {
            Self::ConfigMap => ("configmap", "ConfigMap"),
            Self::Secret => ("secret", "Secret"),
        }
    }

    /// All entries of the object of that name; `None` if it is missing and may be.
    pub(super) fn entries(
        self,
        api: &Api,
        namespace: &str,
        name: &str,
        optional: bool,
    ) -> Result<Option<Entries>, Missing> {
        let Some(object) = api.store().get(self.collection(), namespace, name) else {
            let what = self.names().0;
            return if optional { Ok(None) } else { Err(format!("{what} {name:?} not found")) };
        };
        Ok(Some(self.decoded(&object)))
    }

    fn decoded(self, object: &Object) -> Entries {
        let of = |member: &str, encoded: bool| {
            let entries = object[member].as_object().into_iter().flatten();
            let entries = entries.filter_map(move |(key, value)| {
                let value = value.as_str()?;
                let bytes = if encoded { STANDARD.decode(value).ok()? } else { value.into() };
                Some((key.clone(), bytes))
            });
            entries.collect::<Vec<_>>()
        };
        match self {
            Self::ConfigMap => [of("data", false), of("binaryData", true)].concat(),
            Self::Secret => of("data", true),
        }
    }

    /// One entry; `None` if it is missing and may be.
    pub(super) fn entry(
        self,
        api: &Api,
        namespace: &str,
        selector: &Value,
    ) -> Result<Option<Vec<u8>>, Missing> {
        let optional = selector["optional"] == true;
        let (name, key) = (member(selector, "name"), member(selector, "key"));
        let Some(entries) = self.entries(api, namespace, name, optional)? else { return Ok(None) };
        let found = entries.into_iter().find(|(it, _)| it == key).map(|(_, value)| value);
        if found.is_none() && !optional {
            let what = self.names().1;
            return Err(format!("couldn't find key {key} in {what} {namespace}/{name}"));
        }
        Ok(found)
    }
}

fn member<'a>(value: &'a Value, name: &str) -> &'a str {
    value[name].as_str().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::controllers::testing::World;

    #[test]
    fn fields_are_found_by_the_paths_of_the_api() {
        let pod = json!({"metadata": {"name": "p", "labels": {"a": "1", "b.c/d": "2"}},
            "spec": {"nodeName": "n"},
            "status": {"podIP": "127.1.0.1", "podIPs": [{"ip": "127.1.0.1"}, {"ip": "::1"}]}});
        for (path, value) in [
            ("metadata.name", "p"),
            ("metadata.labels['b.c/d']", "2"),
            ("metadata.labels['x']", ""),
            ("metadata.labels", "a=\"1\"\nb.c/d=\"2\""),
            ("spec.nodeName", "n"),
            ("status.podIP", "127.1.0.1"),
            ("status.podIPs", "127.1.0.1,::1"),
        ] {
            assert_eq!(field(&pod, path).as_deref(), Some(value), "{path}");
        }
        assert_eq!(field(&pod, "spec.containers"), None);
    }

    #[test]
    fn resources_are_rounded_up_to_the_divisor() {
        let node = json!({"status": {"allocatable": {"memory": "8Gi"}}});
        let pod = json!({"spec": {"containers": [{"name": "c",
            "resources": {"requests": {"cpu": "1500m"}}}]}});
        let ask = |resource: &str, divisor: &str| {
            super::resource(&pod, &node, "c", &json!({"resource": resource, "divisor": divisor}))
        };
        assert_eq!(ask("requests.cpu", "1").as_deref(), Some("2"));
        assert_eq!(ask("requests.cpu", "1m").as_deref(), Some("1500"));
        assert_eq!(ask("limits.memory", "1Mi").as_deref(), Some("8192"));
    }

    #[test]
    fn what_is_missing_is_said_in_the_kubelets_words() {
        let world = World::new(0);
        let data =
            json!({"metadata": {"name": "c"}, "data": {"k": "v"}, "binaryData": {"b": "AP8="}});
        world.make(Collection::CONFIG_MAPS, data);
        let ask = |selector: Value| Kind::ConfigMap.entry(&world.api, "ns", &selector);
        assert_eq!(ask(json!({"name": "c", "key": "k"})), Ok(Some(b"v".to_vec())));
        assert_eq!(ask(json!({"name": "c", "key": "b"})), Ok(Some(vec![0, 255])));
        let missing = "couldn't find key x in ConfigMap ns/c";
        assert_eq!(ask(json!({"name": "c", "key": "x"})), Err(missing.to_owned()));
        let missing = "configmap \"d\" not found";
        assert_eq!(ask(json!({"name": "d", "key": "k"})), Err(missing.to_owned()));
        assert_eq!(ask(json!({"name": "d", "key": "k", "optional": true})), Ok(None));
    }
}
