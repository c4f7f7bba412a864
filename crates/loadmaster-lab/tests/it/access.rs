//! HTTPS, credentials and roles, as clients meet them.

use http::Request;
use k8s_openapi::api::core::v1::{Pod, ServiceAccount};
use kube::api::{ListParams, PostParams};
use kube::config::{AuthInfo, KubeConfigOptions, Kubeconfig};
use kube::{Api, Client, Config};
use loadmaster_lab::cluster::{Cluster, ClusterOptions};
use loadmaster_lab::resources::Collection;
use loadmaster_lab::server::LabServer;
use serde_json::{Value, json};

use crate::support::{lab, make, pod, send};

/// A client of the HTTPS listener that trusts the lab's authority and nobody else.
async fn secure(server: &LabServer, token: Option<&str>) -> Client {
    secure_at(&server.https_url(), server, token).await
}

async fn secure_at(url: &str, server: &LabServer, token: Option<&str>) -> Client {
    let ca = server.api().auth().authority().ca_pem();
    let config: Kubeconfig = serde_json::from_value(json!({
        "clusters": [{"name": "c", "cluster": {"server": url,
            "certificate-authority-data": base64(ca)}}],
        "users": [{"name": "u", "user": {}}],
        "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
        "current-context": "x"}))
    .unwrap();
    let options = KubeConfigOptions::default();
    let mut config = Config::from_custom_kubeconfig(config, &options).await.unwrap();
    config.auth_info =
        AuthInfo { token: token.map(|it| it.to_owned().into()), ..AuthInfo::default() };
    Client::try_from(config).unwrap()
}

fn base64(text: &str) -> String {
    let alphabet = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut encoded = String::new();
    for chunk in text.as_bytes().chunks(3) {
        let bits = chunk.iter().fold(0_u32, |bits, byte| bits << 8 | u32::from(*byte));
        let bits = bits << (8 * (3 - chunk.len()));
        for index in 0..4 {
            let letter = alphabet[(bits >> (18 - 6 * index) & 63) as usize];
            encoded.push(if index <= chunk.len() { char::from(letter) } else { '=' });
        }
    }
    encoded
}

fn token(server: &LabServer, request: &Value) -> String {
    let answer = server.api().request_token("ns", "robot", request).unwrap();
    answer["status"]["token"].as_str().unwrap().to_owned()
}

/// A lab whose account `robot` may read the pods of `ns`.
async fn with_robot() -> LabServer {
    let (server, _) = lab().await;
    make(&server, Collection::SERVICE_ACCOUNTS, "ns", json!({"metadata": {"name": "robot"}}));
    let rules =
        json!([{"verbs": ["get", "list", "watch"], "apiGroups": [""], "resources": ["pods"]}]);
    make(&server, Collection::ROLES, "ns", json!({"metadata": {"name": "r"}, "rules": rules}));
    let binding = json!({"metadata": {"name": "b"}, "roleRef": {"kind": "Role", "name": "r"},
        "subjects": [{"kind": "ServiceAccount", "name": "robot"}]});
    make(&server, Collection::ROLE_BINDINGS, "ns", binding);
    make(&server, Collection::PODS, "ns", pod("p0"));
    server
}

fn refusal<T: std::fmt::Debug>(answer: kube::Result<T>) -> (u16, String) {
    match answer.unwrap_err() {
        kube::Error::Api(status) => (status.code, status.message),
        other => panic!("{other}"),
    }
}

#[tokio::test]
async fn a_service_account_does_what_its_role_allows_over_https() {
    let server = with_robot().await;
    let client = secure(&server, Some(&token(&server, &json!({})))).await;
    let pods: Api<Pod> = Api::namespaced(client.clone(), "ns");
    assert_eq!(pods.list(&ListParams::default()).await.unwrap().items.len(), 1);
    let everywhere: Api<Pod> = Api::all(client.clone());
    assert_eq!(
        refusal(everywhere.list(&ListParams::default()).await),
        (
            403,
            "pods is forbidden: User \"system:serviceaccount:ns:robot\" cannot list resource \
             \"pods\" in API group \"\" at the cluster scope"
                .to_owned()
        )
    );
    let new: Pod = serde_json::from_value(pod("p1")).unwrap();
    let (code, message) = refusal(pods.create(&PostParams::default(), &new).await);
    assert_eq!(code, 403);
    assert!(message.contains("cannot create resource \"pods\""), "{message}");
    // Everybody with credentials may look around and ask about himself.
    client.list_core_api_resources("v1").await.unwrap();
    let review = json!({"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview",
        "spec": {"resourceAttributes": {"namespace": "ns", "verb": "list", "resource": "pods"}}});
    let request = Request::post("/apis/authorization.k8s.io/v1/selfsubjectaccessreviews")
        .header("content-type", "application/json")
        .body(review.to_string().into_bytes())
        .unwrap();
    let answer: Value = client.request(request).await.unwrap();
    assert_eq!(answer["status"]["allowed"], true);
}

#[tokio::test]
async fn without_credentials_one_is_anonymous_over_https_and_with_bad_ones_nobody() {
    let server = with_robot().await;
    let get = |path: &'static str| Request::get(path).body(Vec::new()).unwrap();
    let nobody = secure(&server, None).await;
    let version: Value = nobody.request(get("/version")).await.unwrap();
    assert_eq!(version["gitVersion"], "v1.36.2");
    let (code, message) = refusal(nobody.request::<Value>(get("/api/v1/namespaces/ns/pods")).await);
    assert_eq!(
        (code, message.as_str()),
        (
            403,
            "pods is forbidden: User \"system:anonymous\" cannot list resource \"pods\" in API \
             group \"\" in the namespace \"ns\""
        )
    );
    let bad = secure(&server, Some("zzz")).await;
    let unauthorized = (401, "Unauthorized".to_owned());
    assert_eq!(refusal(bad.request::<Value>(get("/version")).await), unauthorized);
    let admin = secure(&server, Some(server.api().auth().admin_token())).await;
    let list = admin.request::<Value>(get("/api/v1/pods")).await.unwrap();
    assert_eq!(list["items"].as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn the_certificate_is_for_the_servers_names_and_signed_by_the_clusters_authority() {
    let server = with_robot().await;
    let port = server.https_address().port();
    let by_name = format!("https://localhost:{port}");
    let named = secure_at(&by_name, &server, None).await;
    assert!(named.apiserver_version().await.is_ok());
    let (other, _) = lab().await;
    let strange = secure_at(&server.https_url(), &other, None).await;
    assert!(strange.apiserver_version().await.is_err());
}

#[tokio::test]
async fn a_connection_without_a_handshake_holds_nobody_up() {
    let server = with_robot().await;
    let _silent = tokio::net::TcpStream::connect(server.https_address()).await.unwrap();
    assert!(secure(&server, None).await.apiserver_version().await.is_ok());
}

#[tokio::test]
async fn a_cluster_gives_pods_their_token_and_namespaces_the_certificate() {
    let options = ClusterOptions { nodes: 0, ..ClusterOptions::default() };
    let cluster = Cluster::start(options).await.unwrap();
    let api = cluster.server().api();
    make(cluster.server(), Collection::PODS, "default", pod("p"));
    let pod = api.store().get(Collection::PODS, "default", "p").unwrap();
    assert!(pod["spec"]["volumes"][0]["projected"]["sources"].is_array());
    let ca = api.store().get(Collection::CONFIG_MAPS, "default", "kube-root-ca.crt").unwrap();
    assert_eq!(ca["data"]["ca.crt"], api.auth().authority().ca_pem());
    cluster.shutdown().await;
}

#[tokio::test]
async fn tokens_and_impersonation_count_on_the_plain_listener_too() {
    let server = with_robot().await;
    let bearer = format!("Bearer {}", token(&server, &json!({})));
    let path = "/api/v1/namespaces/ns/secrets";
    let robot = "system:serviceaccount:ns:robot";
    for headers in [vec![("Authorization", bearer.as_str())], vec![("Impersonate-User", robot)]] {
        let (code, answer) = send(&server, "GET", path, &headers, Vec::new()).await;
        let message = answer["message"].as_str().unwrap();
        assert!(code == 403 && message.contains(robot), "{code} {message}");
        let pods = "/api/v1/namespaces/ns/pods";
        assert_eq!(send(&server, "GET", pods, &headers, Vec::new()).await.0, 200);
    }
    // Who is not the administrator speaks for nobody else.
    let headers = [("Authorization", bearer.as_str()), ("Impersonate-User", "admin")];
    let (code, answer) = send(&server, "GET", path, &headers, Vec::new()).await;
    assert_eq!(code, 403);
    assert_eq!(
        answer["message"],
        format!(
            "users \"admin\" is forbidden: User {robot:?} cannot impersonate resource \"users\" in \
             API group \"\" at the cluster scope"
        )
    );
    let alone = [("Impersonate-Group", "g")];
    assert_eq!(send(&server, "GET", path, &alone, Vec::new()).await.0, 400);
}

#[tokio::test]
async fn a_token_is_asked_for_by_the_subresource() {
    let (server, client) = lab().await;
    make(&server, Collection::SERVICE_ACCOUNTS, "ns", json!({"metadata": {"name": "robot"}}));
    let accounts: Api<ServiceAccount> = Api::namespaced(client, "ns");
    let request = serde_json::from_value(json!({"metadata": {}, "spec": {"audiences": ["a", "b"],
        "expirationSeconds": 600}}))
    .unwrap();
    let answer =
        accounts.create_token_request("robot", &PostParams::default(), &request).await.unwrap();
    assert_eq!(answer.spec.unwrap().audiences.unwrap(), ["a", "b"]);
    assert_eq!(answer.status.unwrap().token.unwrap().split('.').count(), 3);
    make(&server, Collection::SECRETS, "ns", json!({"metadata": {"name": "s"}}));
    let bound = json!({"metadata": {}, "spec": {"audiences": [], "boundObjectRef":
        {"apiVersion": "v1", "kind": "Secret", "name": "s", "uid": "another"}}});
    let bound = serde_json::from_value(bound).unwrap();
    let answer = accounts.create_token_request("robot", &PostParams::default(), &bound).await;
    assert_eq!(refusal(answer).0, 409);
}

#[tokio::test]
async fn whoever_writes_roles_hands_out_his_own_rights_alone() {
    let server = with_robot().await;
    let name = "system:serviceaccount:ns:writer";
    let rules = json!([{"verbs": ["create", "get", "patch", "update"],
        "apiGroups": ["rbac.authorization.k8s.io"], "resources": ["roles"]}]);
    make(&server, Collection::ROLES, "ns", json!({"metadata": {"name": "x"}, "rules": rules}));
    let binding = json!({"metadata": {"name": "x"}, "roleRef": {"kind": "Role", "name": "x"},
        "subjects": [{"kind": "ServiceAccount", "name": "writer"}]});
    make(&server, Collection::ROLE_BINDINGS, "ns", binding);
    let path = "/apis/rbac.authorization.k8s.io/v1/namespaces/ns/roles";
    let json_type = ("Content-Type", "application/json");
    let body = |verb: &str| {
        let rules = json!([{"verbs": [verb], "apiGroups": ["rbac.authorization.k8s.io"],
            "resources": ["roles"]}]);
        json!({"metadata": {"name": "new"}, "rules": rules}).to_string().into_bytes()
    };
    let headers = [("Impersonate-User", name), json_type];
    assert_eq!(send(&server, "POST", path, &headers, body("delete")).await.0, 403);
    assert_eq!(send(&server, "POST", path, &headers, body("get")).await.0, 201);
    let merge = [("Impersonate-User", name), ("Content-Type", "application/merge-patch+json")];
    let at = format!("{path}/new");
    let (code, answer) = send(&server, "PATCH", &at, &merge, body("delete")).await;
    let message = answer["message"].as_str().unwrap();
    assert!(code == 403 && message.contains("not currently held"), "{code} {message}");
    assert_eq!(send(&server, "PUT", &at, &headers, body("delete")).await.0, 403);
    assert_eq!(send(&server, "PATCH", &at, &merge, body("patch")).await.0, 200);
}
