use super::*;
use crate::test_server::{self, TestServer};

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
    let error = connect(&options, LIMIT).await.unwrap_err();
    std::fs::remove_file(&options.kubeconfig.unwrap().0).unwrap();
    assert!(error.may_pass());
    let error = error.to_string();
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

#[tokio::test]
async fn a_server_that_is_busy_or_just_started_may_answer_later_and_one_that_knows_nobody_may_not()
{
    for (code, passes) in [(403, true), (500, true), (503, true), (401, false), (404, false)] {
        let server = TestServer::start(vec![test_server::refusal(code, "Refused")]).await;
        let (name, from) = ("https://api".to_owned(), "a test".to_owned());
        let found = Found { rest: server.rest(), server: name, source_name: from };
        assert_eq!(found.answer().await.unwrap_err().may_pass(), passes, "{code}");
    }
}

/// A kubeconfig with this cluster and this user.
fn kubeconfig(name: &str, cluster: &str, user: &str) -> PathBuf {
    let cluster = format!("{{server: 'https://127.0.0.1:1', {cluster}}}");
    written(
        name,
        &format!(
            "apiVersion: v1\nkind: Config\ncurrent-context: lab\nclusters: [{{name: lab, cluster: \
             {cluster}}}]\nusers: [{{name: lab, user: {{{user}}}}}]\ncontexts: [{{name: lab, \
             context: {{cluster: lab, user: lab}}}}]\n"
        ),
    )
}

#[tokio::test]
async fn an_authority_that_is_not_there_is_no_matter_of_the_context() {
    let path = kubeconfig("authority", "certificate-authority: /nowhere/ca.crt", "");
    let error = connect(&options(path.to_str().unwrap()), LIMIT).await.unwrap_err().to_string();
    std::fs::remove_file(path).unwrap();
    assert!(error.contains("/nowhere/ca.crt"), "{error}");
    assert!(error.ends_with("Check the cluster and the user that the context names"), "{error}");
}

#[tokio::test]
async fn a_program_that_takes_long_to_give_out_credentials_keeps_nothing_else_waiting() {
    let pipe = env::temp_dir().join(format!("loadmaster-k8s-{}-pipe", std::process::id()));
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let exec = format!(
        "exec: {{apiVersion: client.authentication.k8s.io/v1, command: cat, args: ['{}'], \
         interactiveMode: Never}}",
        pipe.display()
    );
    let path = kubeconfig("exec", "insecure-skip-tls-verify: true", &exec);
    let options = options(path.to_str().unwrap());
    let connecting = tokio::spawn(async move { connect(&options, LIMIT).await });
    // The program waits for this, which is got to only where nothing waits for the program.
    let (writing, to) = (b"no credentials".to_vec(), pipe.clone());
    tokio::task::spawn_blocking(move || std::fs::write(to, writing)).await.unwrap().unwrap();
    let error = connecting.await.unwrap().unwrap_err().to_string();
    std::fs::remove_file(path).unwrap();
    std::fs::remove_file(pipe).unwrap();
    assert!(error.contains("the program that its user's credentials come from"), "{error}");
}
