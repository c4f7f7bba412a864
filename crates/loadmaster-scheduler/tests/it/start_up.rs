//! What keeps a scheduler from starting is one paragraph with the place and the fix, and code 2.

use crate::kit::run;

const HEAD: &str = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n";

/// Runs with this configuration; the paragraph, in which `FILE` stands for the file.
async fn refused(config: &str) -> String {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("scheduler.yaml");
    std::fs::write(&file, config).unwrap();
    let file = file.to_str().unwrap();
    let (code, out, paragraph) = run(&["--config", file]).await;
    assert_eq!((code, &*out), (2, ""), "{paragraph}");
    assert!(!paragraph.trim_end().contains("\n\n"), "{paragraph}");
    paragraph.replace(file, "FILE")
}

#[tokio::test]
async fn a_misspelt_plugin_is_answered_with_the_nearest() {
    let profiles = "profiles:\n- plugins:\n    score:\n      enabled:\n      - name: Concentrat\n";
    let paragraph = refused(&format!("{HEAD}{profiles}")).await;
    assert!(paragraph.contains("FILE:7"), "{paragraph}");
    assert!(paragraph.contains("profiles[0].plugins.score.enabled[0]"), "{paragraph}");
    assert!(paragraph.contains("did you mean Concentrate?"), "{paragraph}");
}

#[tokio::test]
async fn an_unknown_field_is_answered_with_its_place() {
    let paragraph = refused(&format!("{HEAD}paralelism: 4\n")).await;
    assert!(paragraph.contains("FILE:3"), "{paragraph}");
    assert!(paragraph.contains("paralelism"), "{paragraph}");
    assert!(paragraph.contains("parallelism"), "{paragraph}");
}

#[tokio::test]
async fn a_negative_weight_is_refused() {
    let profiles = "profiles:\n- plugins:\n    score:\n      enabled: [{name: Concentrate, weight: \
                    -1}]\n";
    let paragraph = refused(&format!("{HEAD}{profiles}")).await;
    assert!(paragraph.contains("weights must not be negative"), "{paragraph}");
}

#[tokio::test]
async fn a_wrong_version_is_answered_with_the_right_one() {
    let config = "apiVersion: kubescheduler.config.k8s.io/v1beta3\nkind: \
                  KubeSchedulerConfiguration\n";
    let paragraph = refused(config).await;
    assert!(paragraph.contains("write kubescheduler.config.k8s.io/v1"), "{paragraph}");
}

#[tokio::test]
async fn two_profiles_of_one_name_are_refused() {
    let profiles = "profiles:\n- schedulerName: a\n- schedulerName: a\n";
    let paragraph = refused(&format!("{HEAD}{profiles}")).await;
    assert!(paragraph.contains("profiles[1].schedulerName"), "{paragraph}");
}

#[tokio::test]
async fn a_configuration_that_is_not_there_is_named() {
    let (code, _, paragraph) = run(&["--config", "/nowhere/scheduler.yaml"]).await;
    assert_eq!(code, 2);
    assert!(paragraph.contains("/nowhere/scheduler.yaml"), "{paragraph}");
}

#[tokio::test]
async fn a_kubeconfig_that_is_not_there_is_named_with_who_named_it() {
    let (code, _, paragraph) = run(&["--kubeconfig", "/nowhere/config"]).await;
    assert_eq!(code, 2);
    assert!(
        paragraph.contains(r#"error: the kubeconfig "/nowhere/config", named by --kubeconfig"#),
        "{paragraph}"
    );
}

#[tokio::test]
async fn without_any_cluster_it_says_how_to_name_one() {
    let (code, _, paragraph) = run(&[]).await;
    assert_eq!(code, 2);
    assert!(paragraph.contains("error: nothing says which cluster to schedule for"), "{paragraph}");
}

#[tokio::test]
async fn a_server_that_does_not_answer_is_named() {
    // Port 1 of the own machine refuses.
    let args = ["--leader-elect=false", "--secure-port=0", "--master", "http://127.0.0.1:1"];
    let (code, _, paragraph) = run(&args).await;
    assert_eq!(code, 2);
    assert!(paragraph.contains("error: the API server http://127.0.0.1:1"), "{paragraph}");
}

#[tokio::test]
async fn a_second_scheduler_does_not_contend_with_the_clusters_own() {
    let paragraph = refused(&format!("{HEAD}profiles:\n- schedulerName: mine\n")).await;
    assert!(paragraph.contains("no profile of FILE is named default-scheduler"), "{paragraph}");
    assert!(paragraph.contains("\nleaderElection:\n  resourceName: mine\n"), "{paragraph}");
}

#[tokio::test]
async fn a_check_says_what_is_wrong_as_json_and_exits_with_1() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("scheduler.yaml");
    std::fs::write(&file, format!("{HEAD}paralelism: 4\n")).unwrap();
    let (code, out, _) =
        run(&["config", "check", file.to_str().unwrap(), "--output", "json"]).await;
    assert_eq!(code, 1);
    let finding: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert_eq!(finding["ok"], false);
    assert_eq!(finding["problems"][0]["path"], "paralelism");
    assert_eq!(finding["problems"][0]["line"], 3);
}

#[tokio::test]
async fn a_shown_configuration_can_be_used_again() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("scheduler.yaml");
    std::fs::write(&file, HEAD).unwrap();
    let (code, shown, _) = run(&["config", "show", file.to_str().unwrap()]).await;
    assert_eq!(code, 0);
    std::fs::write(&file, &shown).unwrap();
    let (code, again, _) = run(&["config", "show", file.to_str().unwrap()]).await;
    assert_eq!(code, 0);
    assert_eq!(shown, again);
}

#[tokio::test]
async fn a_plugins_page_can_be_read() {
    let (code, page, _) = run(&["explain", "Concentrate"]).await;
    assert_eq!(code, 0);
    assert!(page.contains("labelKey"), "{page}");
}
