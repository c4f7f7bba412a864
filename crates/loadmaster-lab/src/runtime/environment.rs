//! The environment and the words with which a container is started.

use serde_json::Value;

use super::access::Access;
use super::expand::expand;
use super::facts::{self, Kind, Missing};
use super::manifest::RunConfig;
use crate::api::Api;
use crate::store::text;
use crate::values::list;

/// The path by which programs are found where neither pod nor image names one.
const DEFAULT_PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// Names and values; of two with the same name the later one counts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Environment(Vec<(String, String)>);

impl Environment {
    /// Sets a variable.
    pub(super) fn set(&mut self, name: &str, value: impl Into<String>) {
        let value = value.into();
        match self.0.iter_mut().find(|(it, _)| it == name) {
            Some(slot) => slot.1 = value,
            None => self.0.push((name.to_owned(), value)),
        }
    }

    /// The value of a variable.
    pub(super) fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(it, _)| it == name).map(|(_, value)| value.as_str())
    }

    /// All variables in the order in which they were set first.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }
}

/// The environment that the pod asks for: the API server's address, then `envFrom`, then `env`.
///
/// # Errors
/// A config map, a secret or a key that is not there.
pub(super) fn of_pod(
    api: &Api,
    pod: &Value,
    node: &Value,
    container: &Value,
    access: Option<&Access>,
) -> Result<Environment, Missing> {
    let mut environment = Environment::default();
    if let Some(access) = access {
        let (host, port) = (&access.host, access.port.to_string());
        let url = format!("tcp://{host}:{port}");
        environment.set("KUBERNETES_SERVICE_HOST", host.clone());
        environment.set("KUBERNETES_SERVICE_PORT", port.clone());
        environment.set("KUBERNETES_SERVICE_PORT_HTTPS", port);
        environment.set("KUBERNETES_PORT", url);
    }
    let namespace = text(pod, "namespace");
    for source in list(container, "/envFrom") {
        let prefix = source["prefix"].as_str().unwrap_or_default();
        for (kind, member) in [(Kind::ConfigMap, "configMapRef"), (Kind::Secret, "secretRef")] {
            let Some(name) = source[member]["name"].as_str() else { continue };
            let optional = source[member]["optional"] == true;
            let entries = kind.entries(api, namespace, name, optional)?.unwrap_or_default();
            for (key, value) in entries {
                let value = String::from_utf8_lossy(&value).into_owned();
                environment.set(&format!("{prefix}{key}"), value);
            }
        }
    }
    for variable in list(container, "/env") {
        let name = variable["name"].as_str().unwrap_or_default();
        if let Some(value) = variable["value"].as_str() {
            let value = expand(value, |it| environment.get(it).map(str::to_owned));
            environment.set(name, value);
        } else if let Some(value) = from_source(api, pod, node, container, &variable["valueFrom"])?
        {
            environment.set(name, value);
        } else if variable["valueFrom"].is_null() {
            environment.set(name, "");
        }
    }
    Ok(environment)
}

/// The value that another place has; `None` if it is missing and may be.
fn from_source(
    api: &Api,
    pod: &Value,
    node: &Value,
    container: &Value,
    source: &Value,
) -> Result<Option<String>, Missing> {
    if let Some(path) = source["fieldRef"]["fieldPath"].as_str() {
        let unknown = || format!("unsupported fieldPath: {path}");
        return facts::field(pod, path).map(Some).ok_or_else(unknown);
    }
    if source["resourceFieldRef"].is_object() {
        let name = container["name"].as_str().unwrap_or_default();
        let of = &source["resourceFieldRef"];
        let unknown = || format!("unsupported container resource : {}", of["resource"]);
        return facts::resource(pod, node, name, of).map(Some).ok_or_else(unknown);
    }
    for (kind, member) in [(Kind::ConfigMap, "configMapKeyRef"), (Kind::Secret, "secretKeyRef")] {
        if source[member].is_object() {
            let value = kind.entry(api, text(pod, "namespace"), &source[member])?;
            return Ok(value.map(|it| String::from_utf8_lossy(&it).into_owned()));
        }
    }
    Ok(None)
}

/// What the container really gets: the image's environment, and over it the pod's.
pub(super) fn complete(image: &RunConfig, pod_name: &str, of_pod: &Environment) -> Environment {
    let mut environment = Environment::default();
    environment.set("PATH", DEFAULT_PATH);
    environment.set("HOSTNAME", pod_name);
    for pair in &image.env {
        if let Some((name, value)) = pair.split_once('=') {
            environment.set(name, value);
        }
    }
    for (name, value) in of_pod.iter() {
        environment.set(name, value);
    }
    environment
}

/// The program and its arguments: `command` replaces the image's entry point and its arguments,
/// `args` the arguments alone.
///
/// # Errors
/// When neither says what to run.
pub(super) fn words(
    container: &Value,
    image: &RunConfig,
    environment: &Environment,
) -> Result<Vec<String>, Missing> {
    let own = |member: &str| -> Vec<String> {
        let words = list(container, member).iter().filter_map(Value::as_str);
        words.map(|it| expand(it, |name| environment.get(name).map(str::to_owned))).collect()
    };
    let (command, arguments) = (own("/command"), own("/args"));
    let words = if !command.is_empty() {
        [command, arguments].concat()
    } else if !arguments.is_empty() {
        [image.entrypoint.clone(), arguments].concat()
    } else {
        [image.entrypoint.clone(), image.cmd.clone()].concat()
    };
    if words.is_empty() { Err("no command specified".to_owned()) } else { Ok(words) }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::controllers::testing::World;
    use crate::resources::Collection;

    #[test]
    fn variables_come_from_every_source_in_order_and_refer_to_earlier_ones() {
        let world = World::new(0);
        let data = json!({"metadata": {"name": "c"}, "data": {"k": "v", "A": "from"}});
        world.make(Collection::CONFIG_MAPS, data);
        let pod = json!({"metadata": {"name": "p", "namespace": "ns"}});
        let container = json!({"name": "c",
            "envFrom": [{"configMapRef": {"name": "c"}, "prefix": "C_"},
                {"secretRef": {"name": "none", "optional": true}}],
            "env": [{"name": "NAME", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
                {"name": "K", "valueFrom": {"configMapKeyRef": {"name": "c", "key": "k"}}},
                {"name": "BOTH", "value": "$(NAME)/$(K)/$(C_A)/$(LATER)"},
                {"name": "LATER", "value": "$(KUBERNETES_SERVICE_PORT)"}]});
        let access = Access::fixed("127.0.0.1", 6443);
        let found = of_pod(&world.api, &pod, &json!({}), &container, Some(&access)).unwrap();
        assert_eq!(found.get("BOTH"), Some("p/v/from/$(LATER)"));
        assert_eq!(found.get("LATER"), Some("6443"));
        let image =
            RunConfig { env: vec!["PATH=/x".into(), "K=image".into()], ..RunConfig::default() };
        let complete = complete(&image, "p", &found);
        assert_eq!((complete.get("PATH"), complete.get("K")), (Some("/x"), Some("v")));
        assert_eq!(complete.get("HOSTNAME"), Some("p"));
        let missing = json!({"env": [{"name": "X",
            "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}}]});
        let refusal = of_pod(&world.api, &pod, &json!({}), &missing, None);
        assert_eq!(refusal, Err("secret \"s\" not found".to_owned()));
    }

    #[test]
    fn command_and_args_replace_what_the_image_has() {
        let image = RunConfig {
            entrypoint: vec!["/e".into()],
            cmd: vec!["c".into()],
            ..RunConfig::default()
        };
        let mut environment = Environment::default();
        environment.set("A", "1");
        let of = |container: Value| words(&container, &image, &environment).unwrap();
        assert_eq!(of(json!({})), ["/e", "c"]);
        assert_eq!(of(json!({"args": ["--a=$(A)"]})), ["/e", "--a=1"]);
        assert_eq!(of(json!({"command": ["/x"]})), ["/x"]);
        assert_eq!(of(json!({"command": ["/x"], "args": ["$(B)"]})), ["/x", "$(B)"]);
        let nothing = words(&json!({}), &RunConfig::default(), &environment);
        assert_eq!(nothing, Err("no command specified".to_owned()));
    }
}
