//! Which crate may depend on which: arrows point one way.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, bail};
use serde_json::Value;

use crate::cargo;

/// Each crate of the workspace with those that it may depend on.
const ARROWS: &[(&str, &[&str])] = &[
    ("loadmaster-framework", &[]),
    ("loadmaster-config", &["loadmaster-framework"]),
    ("loadmaster-core", &["loadmaster-framework", "loadmaster-config"]),
    ("loadmaster-plugins", &["loadmaster-framework"]),
    ("loadmaster-sim", &["loadmaster-framework", "loadmaster-config", "loadmaster-core"]),
    (
        "loadmaster-testing",
        &[
            "loadmaster-framework",
            "loadmaster-config",
            "loadmaster-core",
            "loadmaster-sim",
            "loadmaster-plugins",
        ],
    ),
    ("loadmaster-k8s", &["loadmaster-framework", "loadmaster-config", "loadmaster-core"]),
    (
        "loadmaster-scheduler",
        &[
            "loadmaster-framework",
            "loadmaster-config",
            "loadmaster-core",
            "loadmaster-plugins",
            "loadmaster-k8s",
            "loadmaster-sim",
        ],
    ),
    ("loadmaster-lab", &[]),
    ("xtask-heavy", &[]),
    ("xtask", &["xtask-heavy"]),
    ("xtask-images", &["xtask-heavy"]),
    ("xtask-labs", &["xtask-heavy"]),
    ("xtask-soak", &["loadmaster-lab", "xtask-heavy"]),
];

/// What tests may use beside that: the plugins, what tests are made of, and a cluster to run in.
const IN_TESTS: &[&str] =
    &["loadmaster-plugins", "loadmaster-testing", "loadmaster-sim", "loadmaster-lab"];

/// Crates that decide: no client, no runtime, no I/O may come in, not even by way of another crate.
const PURE: &[&str] = &[
    "loadmaster-framework",
    "loadmaster-config",
    "loadmaster-core",
    "loadmaster-plugins",
    "loadmaster-sim",
];

/// What pure crates must not link.
const BANNED: &[&str] = &["tokio", "kube", "kube-client", "k8s-openapi", "hyper", "axum", "mio"];

/// What cargo knows of the workspace.
#[derive(Debug)]
pub(super) struct Metadata {
    /// Our packages: name, manifest, dependencies with their kind.
    ours: Vec<Package>,
    /// Direct dependencies of every package in the build, outside of tests, by ID.
    graph: BTreeMap<String, Vec<String>>,
    names: BTreeMap<String, String>,
}

#[derive(Debug)]
struct Package {
    id: String,
    name: String,
    manifest: PathBuf,
    depends: Vec<(String, bool)>,
}

impl Metadata {
    /// Asks cargo.
    pub(super) fn read() -> anyhow::Result<Self> {
        let mut command = cargo::command();
        let output =
            command.args(["metadata", "--format-version", "1"]).current_dir(cargo::root()).output();
        let output = output.context("cannot run cargo metadata")?;
        if !output.status.success() {
            bail!("cargo metadata fails: {}", String::from_utf8_lossy(&output.stderr));
        }
        let value = serde_json::from_slice(&output.stdout).context("cannot read cargo metadata")?;
        Ok(Self::parse(&value))
    }

    fn parse(value: &Value) -> Self {
        let members: BTreeSet<&str> = strings(&value["workspace_members"]).collect();
        let packages = || list(&value["packages"]);
        let ours = packages().filter(|it| members.contains(text(&it["id"]))).map(|it| Package {
            id: text(&it["id"]).to_owned(),
            name: text(&it["name"]).to_owned(),
            manifest: text(&it["manifest_path"]).into(),
            depends: list(&it["dependencies"])
                .map(|it| (text(&it["name"]).to_owned(), it["kind"] == "dev"))
                .collect(),
        });
        let in_build = |it: &&Value| list(&it["dep_kinds"]).any(|kind| kind["kind"].is_null());
        let node = |it: &Value| {
            let deps = list(&it["deps"]).filter(in_build).map(|it| text(&it["pkg"]).to_owned());
            (text(&it["id"]).to_owned(), deps.collect())
        };
        let name = |it: &Value| (text(&it["id"]).to_owned(), text(&it["name"]).to_owned());
        Self {
            ours: ours.collect(),
            graph: list(&value["resolve"]["nodes"]).map(node).collect(),
            names: packages().map(name).collect(),
        }
    }

    /// The names of the workspace's packages.
    pub(super) fn package_names(&self) -> Vec<&str> {
        self.ours.iter().map(|it| it.name.as_str()).collect()
    }

    pub(super) fn faults(&self, root: &Path) -> anyhow::Result<Vec<String>> {
        let mut faults = self.wrong_arrows();
        faults.extend(self.banned());
        for package in &self.ours {
            let manifest = fs::read_to_string(&package.manifest);
            let manifest = manifest.context("cannot read a manifest")?;
            if !manifest.contains("[lints]\nworkspace = true") {
                let file = package.manifest.strip_prefix(root).unwrap_or(&package.manifest);
                faults.push(format!(
                    "{}: without the workspace's lints; add `[lints]` with `workspace = true`",
                    file.display()
                ));
            }
        }
        Ok(faults)
    }

    fn wrong_arrows(&self) -> Vec<String> {
        let ours: BTreeSet<&str> = self.ours.iter().map(|it| it.name.as_str()).collect();
        let mut faults = Vec::new();
        for package in &self.ours {
            let name = &package.name;
            let Some((_, allowed)) = ARROWS.iter().find(|(it, _)| it == name) else {
                faults.push(format!("{name}: say in xtask/src/tidy/arrows.rs what it depends on"));
                continue;
            };
            for (on, in_tests) in &package.depends {
                let allowed = allowed.contains(&on.as_str())
                    || (*in_tests && IN_TESTS.contains(&on.as_str()));
                if ours.contains(on.as_str()) && !allowed {
                    faults.push(format!("{name}: must not depend on {on}; arrows point one way"));
                }
            }
        }
        faults
    }

    fn banned(&self) -> Vec<String> {
        let mut faults = Vec::new();
        for package in self.ours.iter().filter(|it| PURE.contains(&it.name.as_str())) {
            let mut seen = BTreeSet::new();
            let mut open = vec![&package.id];
            while let Some(id) = open.pop() {
                let name = self.names.get(id).map_or("", String::as_str);
                if seen.insert(id) {
                    if BANNED.contains(&name) {
                        faults.push(format!("{}: links {name}; it does no I/O", package.name));
                    }
                    open.extend(self.graph.get(id).into_iter().flatten());
                }
            }
        }
        faults
    }
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn strings(value: &Value) -> impl Iterator<Item = &str> {
    list(value).filter_map(Value::as_str)
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// A workspace in which `from` depends on `on`, and `on` on tokio.
    fn workspace(from: &str, on: &str, kind: &Value) -> Metadata {
        let package = |name: &str, deps: Value| json!({"id": name, "name": name, "manifest_path": "", "dependencies": deps});
        let dep = |name: &str| json!({"pkg": name, "dep_kinds": [{"kind": kind}]});
        Metadata::parse(&json!({
            "workspace_members": [from, on],
            "packages": [
                package(from, json!([{"name": on, "kind": kind}])),
                package(on, json!([])),
                package("tokio", json!([])),
            ],
            "resolve": {"nodes": [
                {"id": from, "deps": [dep(on)]},
                {"id": on, "deps": [{"pkg": "tokio", "dep_kinds": [{"kind": null}]}]},
                {"id": "tokio", "deps": []},
            ]},
        }))
    }

    #[test]
    fn an_arrow_against_the_grain_is_a_fault() {
        let normal = json!(null);
        let wrong = workspace("loadmaster-framework", "loadmaster-core", &normal).wrong_arrows();
        assert_eq!(wrong.len(), 1, "{wrong:?}");
        let right = workspace("loadmaster-core", "loadmaster-framework", &normal).wrong_arrows();
        assert!(right.is_empty(), "{right:?}");
        let unknown = workspace("loadmaster-new", "loadmaster-framework", &normal).wrong_arrows();
        assert_eq!(unknown.len(), 1, "{unknown:?}");
    }

    #[test]
    fn tests_may_use_what_tests_are_made_of() {
        let dev = workspace("loadmaster-plugins", "loadmaster-testing", &json!("dev"));
        assert!(dev.wrong_arrows().is_empty());
        let normal = workspace("loadmaster-plugins", "loadmaster-testing", &json!(null));
        assert_eq!(normal.wrong_arrows().len(), 1);
    }

    #[test]
    fn a_runtime_behind_another_crate_is_found_and_one_in_tests_is_not() {
        let linked = workspace("loadmaster-core", "helper", &json!(null)).banned();
        assert_eq!(linked, ["loadmaster-core: links tokio; it does no I/O"]);
        assert!(workspace("loadmaster-core", "helper", &json!("dev")).banned().is_empty());
    }
}
