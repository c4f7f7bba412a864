use std::{collections::BTreeMap, fs, path::Path};

use clap::Parser;
use loadmaster_framework::Gates;
use serde_json::{Value, json};

use super::{
    chart,
    command::Deployed,
    kustomize,
    objects::{self, Object},
    yaml,
};
use crate::app::args::{Cli, Command};

const FEW: &str = "profiles:\n- schedulerName: few\n  plugins:\n    multiPoint:\n      disabled: \
                   [{name: '*'}]\n      enabled: [{name: PrioritySort}, {name: DefaultBinder}, \
                   {name: TaintToleration}]\n";
const ALONE: &str = "leaderElection: {leaderElect: false}\n";
const ELECTED: &str = "leaderElection: {resourceName: few, resourceNamespace: leases}\n";

/// What the command makes of a configuration with these fields.
fn deployed(fields: &str, flags: &[&str]) -> anyhow::Result<Deployed> {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("scheduler.yaml");
    let head = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n";
    fs::write(&file, format!("{head}{fields}")).unwrap();
    of_file(&file, flags)
}

fn of_file(file: &Path, flags: &[&str]) -> anyhow::Result<Deployed> {
    let fixed = ["scheduler", "manifests", "--config", file.to_str().unwrap()];
    let cli = Cli::try_parse_from([&fixed, flags].concat())?;
    let Some(Command::Manifests(command)) = cli.command else { panic!("{cli:?}") };
    command.deployed(&loadmaster_plugins::registry(), &Gates::default())
}

fn all(fields: &str, flags: &[&str]) -> Vec<Value> {
    values(&objects::all(&deployed(fields, flags).unwrap()))
}

fn values(objects: &[Object]) -> Vec<Value> {
    objects.iter().map(|it| it.value().clone()).collect()
}

fn one<'v>(objects: &'v [Value], kind: &str) -> &'v Value {
    objects.iter().find(|it| it["kind"] == kind).unwrap()
}

fn refusal(fields: &str, flags: &[&str]) -> String {
    deployed(fields, flags).unwrap_err().to_string()
}

/// The documents in a text.
fn documents(text: &str) -> Vec<Value> {
    text.split("---\n").map(|it| serde_saphyr::from_str(it).unwrap()).collect()
}

#[test]
fn everything_goes_by_the_profiles_name_or_by_the_one_that_is_given() {
    let objects = all(&format!("{ALONE}{FEW}"), &[]);
    assert_eq!(one(&objects, "Deployment")["metadata"]["name"], "few");
    assert_eq!(one(&objects, "ClusterRole")["metadata"]["name"], "loadmaster:few");
    let objects = all(&format!("{ALONE}{FEW}"), &["--name=mine"]);
    assert_eq!(one(&objects, "ServiceAccount")["metadata"]["name"], "mine");
}

#[test]
fn a_profile_without_volumes_is_granted_nothing_about_storage_and_no_deletion() {
    let text = one(&all(&format!("{ALONE}{FEW}"), &[]), "ClusterRole").to_string();
    assert!(!text.contains("storage") && !text.contains("persistentvolume"), "{text}");
    assert!(!text.contains("delete") && !text.contains('*'), "{text}");
}

#[test]
fn a_role_is_where_the_lease_is_and_its_rule_names_the_lease_alone() {
    let objects = all(&format!("{ELECTED}{FEW}"), &[]);
    let role = objects
        .iter()
        .find(|it| it["kind"] == "Role" && it["metadata"]["namespace"] == "leases")
        .unwrap();
    let rule = json!({"apiGroups": ["coordination.k8s.io"], "resources": ["leases"],
        "resourceNames": ["few"], "verbs": ["get", "update"]});
    assert!(role["rules"].as_array().unwrap().contains(&rule), "{role:#}");
    let bound = objects
        .iter()
        .find(|it| it["kind"] == "RoleBinding" && it["metadata"]["namespace"] == "leases")
        .unwrap();
    assert_eq!(bound["subjects"][0]["namespace"], "kube-system");
    let made = one(&objects, "Namespace");
    assert_eq!(made["metadata"]["name"], "leases", "it comes before what is in it");
    assert!(made["metadata"]["labels"]["pod-security.kubernetes.io/enforce"].is_null());
}

#[test]
fn the_container_may_do_nothing_that_it_does_not_need() {
    let objects = all(&format!("{ALONE}{FEW}"), &[]);
    let pod = &one(&objects, "Deployment")["spec"]["template"]["spec"];
    assert_eq!(pod["securityContext"]["runAsNonRoot"], true);
    assert_eq!(pod["securityContext"]["seccompProfile"]["type"], "RuntimeDefault");
    let container = &pod["containers"][0];
    assert_eq!(container["securityContext"]["readOnlyRootFilesystem"], true);
    assert_eq!(container["securityContext"]["allowPrivilegeEscalation"], false);
    assert_eq!(container["securityContext"]["capabilities"]["drop"], json!(["ALL"]));
    assert_eq!(container["livenessProbe"]["httpGet"]["path"], "/livez");
    assert_eq!(container["readinessProbe"]["httpGet"]["scheme"], "HTTPS");
    // A file by itself would not follow a changed ConfigMap.
    assert!(container["volumeMounts"][0]["subPath"].is_null());
}

#[test]
fn without_an_election_there_is_one_copy_which_ends_before_its_successor_starts() {
    let objects = all(&format!("{ALONE}{FEW}"), &[]);
    assert_eq!(one(&objects, "Deployment")["spec"]["strategy"]["type"], "Recreate");
    let refusal = refusal(&format!("{ALONE}{FEW}"), &["--replicas=2"]);
    assert!(refusal.contains("leaderElection.leaderElect"), "{refusal}");
}

#[test]
fn several_copies_keep_apart_and_are_drained_one_at_a_time() {
    let objects = all(&format!("{ELECTED}{FEW}"), &["--replicas=2"]);
    let deployment = one(&objects, "Deployment");
    assert_eq!(deployment["spec"]["strategy"]["type"], "RollingUpdate");
    let pod = &deployment["spec"]["template"]["spec"];
    assert!(pod["affinity"]["podAntiAffinity"].is_object());
    assert_eq!(one(&objects, "PodDisruptionBudget")["spec"]["maxUnavailable"], 1);
}

#[test]
fn only_in_kube_system_is_it_of_the_most_important_pods() {
    let class = |flags: &[&str]| {
        let objects = all(&format!("{ALONE}{FEW}"), flags);
        one(&objects, "Deployment")["spec"]["template"]["spec"]["priorityClassName"].clone()
    };
    assert_eq!(class(&[]), "system-cluster-critical");
    assert_eq!(class(&["--namespace=mine"]), Value::Null);
    let objects = all(&format!("{ALONE}{FEW}"), &["--namespace=mine"]);
    assert_eq!(objects[0]["kind"], "Namespace");
    assert_eq!(objects[0]["metadata"]["name"], "mine");
}

#[test]
fn switched_features_reach_the_container() {
    let flags = ["--feature-gates=TaintTolerationComparisonOperators=true"];
    let objects = all(&format!("{ALONE}{FEW}"), &flags);
    let container = &one(&objects, "Deployment")["spec"]["template"]["spec"]["containers"][0];
    assert_eq!(container["args"].as_array().unwrap().last(), Some(&json!(flags[0])));
}

#[test]
fn what_cannot_run_in_a_container_or_name_an_object_is_refused() {
    let kubeconfig = format!("{ALONE}clientConnection: {{kubeconfig: /a}}\n{FEW}");
    assert!(refusal(&kubeconfig, &[]).contains("clientConnection.kubeconfig"));
    assert!(refusal(&format!("{ALONE}{FEW}"), &["--name=A"]).contains("--name"));
}

#[test]
fn the_yaml_says_of_each_rule_who_needs_it_and_reads_as_the_same_objects() {
    let deployed = deployed(&format!("{ELECTED}{FEW}"), &["--replicas=2"]).unwrap();
    let objects = objects::all(&deployed);
    let text = yaml::documents(&objects).unwrap();
    assert!(text.contains("# For DefaultBinder.\n- apiGroups:"), "{text}");
    assert_eq!(documents(&text), values(&objects));
}

/// Puts the release's namespace, the values and the configuration where a chart's templates want
/// them.
fn rendered(files: &[(String, String)], namespace: &str) -> Vec<Value> {
    let text = |name: &str| &files.iter().find(|it| it.0 == name).unwrap().1;
    let values: Value = serde_saphyr::from_str(text("values.yaml")).unwrap();
    let config: Vec<_> = text("scheduler.yaml").lines().map(|it| format!("    {it}")).collect();
    let mut known = BTreeMap::from([
        (".Release.Namespace".to_owned(), namespace.to_owned()),
        (r#".Files.Get "scheduler.yaml" | indent 4"#.to_owned(), config.join("\n")),
        (".Values.image".to_owned(), values["image"].as_str().unwrap().to_owned()),
        (".Values.replicas".to_owned(), values["replicas"].to_string()),
    ]);
    for (name, amount) in values["requests"].as_object().unwrap() {
        known.insert(format!(".Values.requests.{name}"), amount.as_str().unwrap().to_owned());
    }
    let templates = files.iter().filter(|it| it.0.starts_with("templates/"));
    let render = |template: &str| {
        let mut parts = template.split("{{ ");
        let mut text = parts.next().unwrap().to_owned();
        for part in parts {
            let (expression, after) = part.split_once(" }}").unwrap();
            text += known.get(expression).unwrap_or_else(|| panic!("{expression}"));
            text += after;
        }
        text
    };
    templates.flat_map(|it| documents(&render(&it.1))).collect()
}

fn sorted(mut objects: Vec<Value>) -> Vec<Value> {
    objects.sort_by_key(|it| {
        format!("{}{}{}", it["kind"], it["metadata"]["namespace"], it["metadata"]["name"])
    });
    objects
}

#[test]
fn the_chart_with_its_own_values_gives_the_same_objects() {
    for (fields, flags) in [
        (format!("{ALONE}{FEW}"), &["--image=a/b:1"][..]),
        (format!("{ELECTED}{FEW}"), &["--replicas=3", "--namespace=mine"]),
    ] {
        let deployed = deployed(&fields, flags).unwrap();
        let files = chart::files(&deployed).unwrap();
        let mut expected = values(&objects::all(&deployed));
        expected.retain(|it| it["kind"] != "Namespace");
        assert_eq!(sorted(rendered(&files, &deployed.namespace)), sorted(expected));
    }
}

#[test]
fn the_committed_base_and_chart_are_what_the_command_writes() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../profiles/cache-aware-scheduler");
    let image = "--image=forge.lab:5000/academy/cache-aware-scheduler:0.1.0";
    let deployed = of_file(&folder.join("scheduler.yaml"), &[image, "--replicas=2"]).unwrap();
    let made = [
        ("kustomize", kustomize::files(&deployed).unwrap()),
        ("chart", chart::files(&deployed).unwrap()),
    ];
    for (part, files) in made {
        for (name, text) in files {
            let path = folder.join(part).join(name);
            let committed = fs::read_to_string(&path).unwrap_or_default();
            assert!(
                committed == text,
                "{} is not what is generated; profiles/README.md has the command",
                path.display()
            );
        }
    }
}

#[test]
fn pods_serve_at_their_own_address_unless_another_is_given() {
    let container = |flags: &[&str]| {
        let objects = all(ALONE, flags);
        one(&objects, "Deployment")["spec"]["template"]["spec"]["containers"][0].clone()
    };
    let own = container(&[]);
    assert_eq!(own["args"][1], "--bind-address=$(POD_IP)");
    assert_eq!(own["env"][0]["name"], "POD_IP");
    assert_eq!(own["env"][0]["valueFrom"]["fieldRef"]["fieldPath"], "status.podIP");
    let every = container(&["--bind-address=0.0.0.0"]);
    assert_eq!(every["args"][1], "--bind-address=0.0.0.0");
    assert_eq!(every["env"], Value::Null);
    assert!(refusal(ALONE, &["--bind-address=eth0"]).contains("is no IP address"));
}
