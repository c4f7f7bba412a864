//! The Helm chart: the same objects, with a few values to choose.
//!
//! Templates hold nothing but `.Values.x`, `.Release.Namespace` and the configuration's text, so
//! they can be read, and checked, without Helm.

use std::fmt::Write as _;

use serde_json::{Value, json};

use super::{
    command::{CONFIG_FILE, Deployed},
    objects::{self, Object},
    workload::REQUESTS,
    yaml,
};

/// The files of the chart.
pub(super) fn files(deployed: &Deployed) -> anyhow::Result<Vec<(String, String)>> {
    let mut files = vec![
        ("Chart.yaml".to_owned(), yaml::text(&chart(deployed))?),
        ("values.yaml".to_owned(), values(deployed)),
        (CONFIG_FILE.to_owned(), deployed.config.clone()),
    ];
    let mut rbac = Vec::new();
    for object in objects::all(deployed) {
        match object.kind() {
            // Helm makes the release's namespace, or finds it.
            "Namespace" => {}
            "ConfigMap" => {
                files.push(("templates/configmap.yaml".to_owned(), config_map(&object)?));
            }
            "Deployment" => {
                files.push(("templates/deployment.yaml".to_owned(), workload(deployed, &object)?));
            }
            "PodDisruptionBudget" => {
                let text = yaml::document(&released(&object))?;
                files.push(("templates/poddisruptionbudget.yaml".to_owned(), text));
            }
            _ => rbac.push(released(&object)),
        }
    }
    files.push(("templates/rbac.yaml".to_owned(), yaml::documents(&rbac)?));
    Ok(files)
}

fn chart(deployed: &Deployed) -> Value {
    json!({
        "apiVersion": "v2",
        "type": "application",
        "name": deployed.name,
        "description": "A Kubernetes scheduler beside the cluster's own",
        "version": env!("CARGO_PKG_VERSION"),
        "appVersion": env!("CARGO_PKG_VERSION"),
        "kubeVersion": ">=1.33.0-0",
    })
}

fn values(deployed: &Deployed) -> String {
    let mut text = format!("# The image that runs.\nimage: {:?}\n", deployed.image);
    if deployed.elects {
        let _ = write!(
            text,
            "# How many copies run, of which one schedules.\nreplicas: {}\n",
            deployed.replicas
        );
    }
    text += "# What a copy asks for.\nrequests:\n";
    for (name, amount) in REQUESTS {
        let _ = writeln!(text, "  {name}: {amount:?}");
    }
    let _ = write!(
        text,
        "# The configuration is the file {CONFIG_FILE} of this chart. The permissions are those that \
         its plugins need:\n# make the chart anew where plugins change, by `scheduler manifests \
         --config FILE --helm DIR`.\n"
    );
    text
}

const RELEASE: &str = "{{ .Release.Namespace }}";

/// The object in the release's namespace, or bound to the account there. Roles stay where what they
/// are about is.
fn released(object: &Object) -> Object {
    object.map(|value| {
        if !matches!(value["kind"].as_str(), Some("Role" | "RoleBinding"))
            && !value["metadata"]["namespace"].is_null()
        {
            value["metadata"]["namespace"] = json!(RELEASE);
        }
        if let Some(subject) = value.pointer_mut("/subjects/0/namespace") {
            *subject = json!(RELEASE);
        }
    })
}

fn config_map(object: &Object) -> anyhow::Result<String> {
    let head = released(object).map(|value| {
        if let Some(fields) = value.as_object_mut() {
            fields.remove("data");
        }
    });
    let head = yaml::document(&head)?;
    Ok(format!(
        "{head}data:\n  {CONFIG_FILE}: |\n{{{{ .Files.Get {CONFIG_FILE:?} | indent 4 }}}}\n"
    ))
}

fn workload(deployed: &Deployed, object: &Object) -> anyhow::Result<String> {
    const REPLICAS: &str = "{{ .Values.replicas }}";
    let templated = released(object).map(|value| {
        if deployed.elects {
            value["spec"]["replicas"] = json!(REPLICAS);
        }
        if let Some(container) = value.pointer_mut("/spec/template/spec/containers/0") {
            container["image"] = json!("{{ .Values.image }}");
            for (name, _) in REQUESTS {
                let template = format!("{{{{ .Values.requests.{name} }}}}");
                container["resources"]["requests"][name] = json!(template);
            }
        }
    });
    // A number, so without the quotes that a text with braces needs.
    let text = yaml::document(&templated)?;
    Ok(['"', '\'']
        .iter()
        .fold(text, |text, quote| text.replace(&format!("{quote}{REPLICAS}{quote}"), REPLICAS)))
}
