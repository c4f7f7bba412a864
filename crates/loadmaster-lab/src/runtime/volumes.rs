//! The volumes of a pod as folders on the lab's disk.
//!
//! Config maps, secrets, tokens and the pod's own fields become files and follow what they come
//! from; `emptyDir` is an empty folder, `hostPath` the folder that it names. A claim's volume is an
//! empty folder too: the lab's volumes are hollow.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Component, Path, PathBuf};

use jiff::Timestamp;
use serde_json::Value;

use super::access;
use super::atomic::{self, Payload, Payloads};
use super::facts::{self, Kind, Missing};
use crate::api::Api;
use crate::store::text;
use crate::values::list;

/// Where every client looks for the pod's service account.
pub(super) const SERVICE_ACCOUNT: &str = "/var/run/secrets/kubernetes.io/serviceaccount";

/// A volume in a container.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Mount {
    /// The folder or file on the lab's disk.
    pub(super) host: PathBuf,
    /// The path in the container.
    pub(super) path: PathBuf,
    pub(super) read_only: bool,
}

/// The volumes of one pod.
#[derive(Debug)]
pub(super) struct Volumes {
    folder: PathBuf,
    /// Tokens that are still good, by volume and path, and when to replace them.
    tokens: BTreeMap<(String, PathBuf), (String, Timestamp)>,
}

impl Volumes {
    /// Volumes below this folder.
    pub(super) fn new(folder: PathBuf) -> Self {
        Self { folder, tokens: BTreeMap::new() }
    }

    /// Writes the files of all volumes, where they changed; returns when to do so again even if
    /// nothing changes.
    ///
    /// # Errors
    /// A volume that cannot be made, in the kubelet's words.
    pub(super) fn write(
        &mut self,
        api: &Api,
        pod: &Value,
        node: &Value,
        now: Timestamp,
    ) -> Result<Option<Timestamp>, Missing> {
        for volume in list(pod, "/spec/volumes") {
            let name = volume["name"].as_str().unwrap_or_default().to_owned();
            let failed =
                |why: String| format!("MountVolume.SetUp failed for volume {name:?} : {why}");
            let folder = self.folder.join(&name);
            let mut files = Files { api, pod, node, now, found: Payloads::new() };
            let written = if files.fill(&name, volume, &mut self.tokens).map_err(failed)? {
                atomic::write(&folder, &files.found, now).map(|_| ())
            } else if volume["hostPath"].is_null() {
                fs::create_dir_all(&folder)
            } else {
                Ok(())
            };
            written.map_err(|error| failed(error.to_string()))?;
        }
        Ok(self.tokens.values().map(|(_, replace)| *replace).min())
    }

    /// What a container mounts, outer paths before inner ones.
    ///
    /// # Errors
    /// A path below a volume that leads outside of it.
    pub(super) fn mounts(
        &self,
        pod: &Value,
        container: &Value,
        expanded: impl Fn(&str) -> String,
    ) -> Result<Vec<Mount>, Missing> {
        let mut mounts = Vec::new();
        for mount in list(container, "/volumeMounts") {
            let name = mount["name"].as_str().unwrap_or_default();
            let mut host = self.host_folder(pod, name);
            let (plain, expr) = (mount["subPath"].as_str(), mount["subPathExpr"].as_str());
            if let Some(below) = plain.map(str::to_owned).or_else(|| expr.map(&expanded)) {
                let inside = Path::new(&below).components();
                if !inside.clone().all(|it| matches!(it, Component::Normal(_))) {
                    return Err(format!("failed to prepare subPath for volumeMount {name:?}"));
                }
                host.extend(inside);
            }
            let path = PathBuf::from(mount["mountPath"].as_str().unwrap_or_default());
            mounts.push(Mount { host, path, read_only: mount["readOnly"] == true });
        }
        mounts.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(mounts)
    }

    fn host_folder(&self, pod: &Value, name: &str) -> PathBuf {
        let volume = list(pod, "/spec/volumes").iter().find(|it| it["name"] == name);
        let path = volume.and_then(|it| it["hostPath"]["path"].as_str());
        path.map_or_else(|| self.folder.join(name), PathBuf::from)
    }
}

/// The files of a volume while they are being collected.
struct Files<'a> {
    api: &'a Api,
    pod: &'a Value,
    node: &'a Value,
    now: Timestamp,
    found: Payloads,
}

impl Files<'_> {
    /// Collects the files of a volume; says whether it is of a kind that consists of files.
    fn fill(
        &mut self,
        name: &str,
        volume: &Value,
        tokens: &mut BTreeMap<(String, PathBuf), (String, Timestamp)>,
    ) -> Result<bool, Missing> {
        let mode = |source: &Value| source["defaultMode"].as_u64().unwrap_or(0o644);
        let of = |member: &str| volume.get(member).filter(|it| it.is_object());
        if let Some(source) = of("configMap") {
            self.entries(Kind::ConfigMap, &source["name"], source, mode(source))?;
        } else if let Some(source) = of("secret") {
            self.entries(Kind::Secret, &source["secretName"], source, mode(source))?;
        } else if let Some(source) = of("downwardAPI") {
            self.fields(source, mode(source))?;
        } else if let Some(projected) = of("projected") {
            let mode = mode(projected);
            for source in list(projected, "/sources") {
                let of = |member: &str| source.get(member).filter(|it| it.is_object());
                if let Some(source) = of("configMap") {
                    self.entries(Kind::ConfigMap, &source["name"], source, mode)?;
                } else if let Some(source) = of("secret") {
                    self.entries(Kind::Secret, &source["name"], source, mode)?;
                } else if let Some(source) = of("downwardAPI") {
                    self.fields(source, mode)?;
                } else if let Some(source) = of("serviceAccountToken") {
                    let path = path_of(source)?;
                    let key = (name.to_owned(), path.clone());
                    let good = tokens.get(&key).filter(|(_, replace)| *replace > self.now);
                    let (token, replace) = match good {
                        Some(good) => good.clone(),
                        None => access::token(self.api, self.pod, source, self.now)?,
                    };
                    self.add(path, token.clone().into_bytes(), mode)?;
                    tokens.insert(key, (token, replace));
                }
            }
        } else {
            return Ok(false);
        }
        Ok(true)
    }

    fn entries(
        &mut self,
        kind: Kind,
        name: &Value,
        source: &Value,
        mode: u64,
    ) -> Result<(), Missing> {
        let (name, namespace) = (name.as_str().unwrap_or_default(), text(self.pod, "namespace"));
        let optional = source["optional"] == true;
        let entries = kind.entries(self.api, namespace, name, optional);
        let Some(entries) = entries? else { return Ok(()) };
        let items = list(source, "/items");
        if items.is_empty() {
            for (key, bytes) in entries {
                self.add(PathBuf::from(key), bytes, mode)?;
            }
            return Ok(());
        }
        for item in items {
            let key = item["key"].as_str().unwrap_or_default();
            let found = entries.iter().find(|(it, _)| it == key);
            let Some((_, bytes)) = found else {
                if optional {
                    continue;
                }
                return Err(format!("references non-existent config key: {key}"));
            };
            self.add(path_of(item)?, bytes.clone(), item["mode"].as_u64().unwrap_or(mode))?;
        }
        Ok(())
    }

    fn fields(&mut self, source: &Value, mode: u64) -> Result<(), Missing> {
        for item in list(source, "/items") {
            let value = if let Some(path) = item["fieldRef"]["fieldPath"].as_str() {
                facts::field(self.pod, path)
            } else {
                facts::resource(self.pod, self.node, "", &item["resourceFieldRef"])
            };
            let value = value.ok_or_else(|| "unsupported field of the pod".to_owned())?;
            let mode = item["mode"].as_u64().unwrap_or(mode);
            self.add(path_of(item)?, value.into_bytes(), mode)?;
        }
        Ok(())
    }

    fn add(&mut self, path: PathBuf, bytes: Vec<u8>, mode: u64) -> Result<(), Missing> {
        let inside = path.components().all(|it| matches!(it, Component::Normal(_)));
        if !inside || path.as_os_str().is_empty() || path.starts_with("..data") {
            return Err(format!("invalid path {:?}", path.display().to_string()));
        }
        // Whoever runs the container must be able to read it, whatever the image's user is.
        let mode = u32::try_from(mode & 0o777).unwrap_or_default() | 0o400;
        self.found.insert(path, Payload { bytes, mode });
        Ok(())
    }
}

fn path_of(item: &Value) -> Result<PathBuf, Missing> {
    item["path"].as_str().map(PathBuf::from).ok_or_else(|| "a path is missing".to_owned())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::controllers::testing::World;
    use crate::resources::Collection;

    fn pod(volumes: &Value, mounts: &Value) -> Value {
        json!({"metadata": {"name": "p", "namespace": "ns", "labels": {"a": "1"}},
            "spec": {"volumes": volumes,
                "containers": [{"name": "c", "volumeMounts": mounts}]}})
    }

    #[test]
    fn a_config_map_becomes_files_and_changes_with_it() {
        let world = World::new(0);
        let folder = tempfile::tempdir().unwrap();
        let mut volumes = Volumes::new(folder.path().to_owned());
        let pod = pod(
            &json!([{"name": "v", "configMap": {"name": "c"}},
                {"name": "some", "configMap": {"name": "c", "items": [{"key": "k", "path": "d/x"}]}},
                {"name": "me", "downwardAPI": {"items": [
                    {"path": "labels", "fieldRef": {"fieldPath": "metadata.labels"}}]}},
                {"name": "room", "emptyDir": {}}]),
            &json!([]),
        );
        let refusal = volumes.write(&world.api, &pod, &json!({}), world.now()).unwrap_err();
        let expected = "MountVolume.SetUp failed for volume \"v\" : configmap \"c\" not found";
        assert_eq!(refusal, expected);
        let data = json!({"metadata": {"name": "c"}, "data": {"k": "one", "l": "two"}});
        world.make(Collection::CONFIG_MAPS, data);
        volumes.write(&world.api, &pod, &json!({}), world.now()).unwrap();
        let read = |path: &str| fs::read_to_string(folder.path().join(path)).ok();
        assert_eq!(read("v/k").as_deref(), Some("one"));
        assert_eq!(read("some/d/x").as_deref(), Some("one"));
        assert_eq!(read("some/l"), None);
        assert_eq!(read("me/labels").as_deref(), Some("a=\"1\""));
        assert!(folder.path().join("room").is_dir());
        world.edit(Collection::CONFIG_MAPS, "c", |it| it["data"]["k"] = json!("changed"));
        volumes.write(&world.api, &pod, &json!({}), Timestamp::now()).unwrap();
        assert_eq!(read("v/k").as_deref(), Some("changed"));
    }

    #[test]
    fn mounts_are_sorted_and_stay_within_their_volume() {
        let volumes = Volumes::new("/pods/v".into());
        let mounts = |mounts: &Value| {
            let pod = pod(&json!([{"name": "h", "hostPath": {"path": "/srv"}}]), mounts);
            let container = &pod["spec"]["containers"][0];
            volumes.mounts(&pod, container, |it| it.replace("$(A)", "1"))
        };
        let found = mounts(&json!([{"name": "v", "mountPath": "/a/b", "readOnly": true},
            {"name": "h", "mountPath": "/a", "subPathExpr": "x$(A)"}]))
        .unwrap();
        let mount = |host: &str, path: &str, read_only| Mount {
            host: host.into(),
            path: path.into(),
            read_only,
        };
        assert_eq!(found, [mount("/srv/x1", "/a", false), mount("/pods/v/v", "/a/b", true)]);
        assert!(mounts(&json!([{"name": "v", "mountPath": "/a", "subPath": "../x"}])).is_err());
    }

    #[test]
    fn a_key_that_is_no_file_name_is_refused() {
        let world = World::new(0);
        let (api, pod, node) = (&world.api, json!({}), json!({}));
        let mut files =
            Files { api, pod: &pod, node: &node, now: world.now(), found: Payloads::new() };
        for path in ["../x", "/x", "", "..data/x"] {
            assert!(files.add(path.into(), Vec::new(), 0o644).is_err(), "{path}");
        }
    }
}
