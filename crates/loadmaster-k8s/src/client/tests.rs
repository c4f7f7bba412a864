use super::*;

fn options(path: &str) -> ClientOptions {
    ClientOptions {
        kubeconfig: Some((path.into(), "--kubeconfig".to_owned())),
        ..ClientOptions::default()
    }
}

fn written(name: &str, text: &str) -> PathBuf {
    let path = env::temp_dir().join(format!("loadmaster-k8s-{}-{name}", std::process::id()));
    std::fs::write(&path, text).unwrap();
    path
}

const LIMIT: Duration = Duration::from_secs(5);

#[tokio::test]
async fn a_kubeconfig_that_does_not_exist_is_named_with_who_named_it_and_the_fix() {
    let error = connect(&options("/nowhere/config"), LIMIT).await.unwrap_err().to_string();
    assert!(
        error.starts_with(
            r#"the kubeconfig "/nowhere/config", named by --kubeconfig, does not exist. Name one"#
        ),
        "{error}"
    );
}

#[tokio::test]
async fn a_context_that_does_not_exist_is_answered_with_those_that_do() {
    let path = written(
        "contexts",
        "apiVersion: v1\nkind: Config\ncontexts:\n- {name: lab, context: {cluster: lab, user: \
         lab}}\n",
    );
    let mut options = options(path.to_str().unwrap());
    options.context = Some("prod".to_owned());
    let error = connect(&options, LIMIT).await.unwrap_err().to_string();
    std::fs::remove_file(path).unwrap();
    assert!(error.contains("prod"), "{error}");
    assert!(error.ends_with("It has the contexts lab; choose one with --context"), "{error}");
}

#[tokio::test]
async fn a_file_that_is_no_kubeconfig_says_so() {
    let path = written("garbage", "clusters: 7\n");
    let error = connect(&options(path.to_str().unwrap()), LIMIT).await.unwrap_err();
    std::fs::remove_file(path).unwrap();
    assert!(matches!(error, ConnectError::Unusable { .. }), "{error}");
}

#[tokio::test]
async fn a_server_that_does_not_answer_is_named() {
    // Port 1 of the own machine refuses.
    let options = ClientOptions {
        kubeconfig: Some((
            written(
                "refused",
                "apiVersion: v1\nkind: Config\ncurrent-context: lab\nclusters: [{name: lab, \
                 cluster: {server: 'http://127.0.0.1:1'}}]\nusers: [{name: lab, user: \
                 {}}]\ncontexts: [{name: lab, context: {cluster: lab, user: lab}}]\n",
            ),
            "--kubeconfig".to_owned(),
        )),
        ..ClientOptions::default()
    };
    let error = connect(&options, LIMIT).await.unwrap_err().to_string();
    std::fs::remove_file(&options.kubeconfig.unwrap().0).unwrap();
    assert!(error.starts_with("the API server http://127.0.0.1:1, from kubeconfig"), "{error}");
    assert!(error.contains("refused"), "{error}");
}

#[tokio::test]
async fn who_the_user_wants_to_be_taken_for_goes_into_every_call() {
    let path = written(
        "impersonation",
        "apiVersion: v1\nkind: Config\ncurrent-context: lab\nclusters: [{name: lab, cluster: \
         {server: 'http://127.0.0.1:1'}}]\nusers: [{name: lab, user: {as: robot, as-groups: [a, \
         b]}}]\ncontexts: [{name: lab, context: {cluster: lab, user: lab}}]\n",
    );
    let config = from_kubeconfig(&path, "--kubeconfig", None).await.unwrap();
    std::fs::remove_file(path).unwrap();
    let headers: Vec<_> = config
        .headers
        .iter()
        .map(|(name, value)| format!("{name}: {}", value.to_str().unwrap()))
        .collect();
    assert_eq!(
        headers,
        ["impersonate-user: robot", "impersonate-group: a", "impersonate-group: b"]
    );
}
