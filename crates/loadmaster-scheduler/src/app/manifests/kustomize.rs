//! The Kustomize base: the same objects, the configuration a file of its own.

use serde_json::json;

use super::{
    command::{CONFIG_FILE, Deployed},
    objects::{self, labels},
    yaml,
};

/// The files of the base.
pub(super) fn files(deployed: &Deployed) -> anyhow::Result<Vec<(String, String)>> {
    let objects = objects::all(deployed);
    let of = |kinds: &[&str]| {
        let chosen = objects.iter().filter(|it| kinds.contains(&it.kind()));
        chosen.cloned().collect::<Vec<_>>()
    };
    let resources = [
        ("namespace.yaml", of(&["Namespace"])),
        (
            "rbac.yaml",
            of(&["ServiceAccount", "ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding"]),
        ),
        ("deployment.yaml", of(&["Deployment", "PodDisruptionBudget"])),
    ];
    let mut files = Vec::new();
    for (name, objects) in resources.iter().filter(|it| !it.1.is_empty()) {
        files.push(((*name).to_owned(), yaml::documents(objects)?));
    }
    let names: Vec<_> = files.iter().map(|it| &it.0).collect();
    let kustomization = json!({
        "apiVersion": "kustomize.config.k8s.io/v1beta1",
        "kind": "Kustomization",
        "resources": names,
        "configMapGenerator": [{
            "name": deployed.name,
            "namespace": deployed.namespace,
            "files": [CONFIG_FILE],
            "options": {"labels": labels(deployed)},
        }],
        // A running scheduler takes a changed configuration up; a new name would restart it.
        "generatorOptions": {"disableNameSuffixHash": true},
    });
    files.push(("kustomization.yaml".to_owned(), yaml::text(&kustomization)?));
    files.push((CONFIG_FILE.to_owned(), deployed.config.clone()));
    Ok(files)
}
