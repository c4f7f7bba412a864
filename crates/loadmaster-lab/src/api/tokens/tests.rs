use std::sync::{Arc, Mutex};

use super::*;
use crate::api::DeleteOptions;
use crate::store::{Clock, Store};

/// An API whose time a test moves, with the account `robot` and its pod `p` in `ns`.
fn api() -> (Api, Arc<Mutex<Timestamp>>) {
    let now = Arc::new(Mutex::new(Timestamp::now()));
    let time = Arc::clone(&now);
    let clock = Clock::new(move || *time.lock().unwrap());
    let api = Api::new(Arc::new(Store::new().with_clock(clock)));
    let make = |collection: Collection, namespace, object| {
        api.create(collection.resource(), namespace, object, false).unwrap()
    };
    make(Collection::NAMESPACES, "", json!({"metadata": {"name": "ns"}}));
    make(Collection::NODES, "", json!({"metadata": {"name": "n1"}}));
    for name in ["robot", "other"] {
        make(Collection::SERVICE_ACCOUNTS, "ns", json!({"metadata": {"name": name}}));
    }
    let spec = json!({"serviceAccountName": "robot", "nodeName": "n1",
        "terminationGracePeriodSeconds": 30, "containers": [{"name": "c", "image": "i:1"}]});
    make(Collection::PODS, "ns", json!({"metadata": {"name": "p"}, "spec": spec}));
    (api, now)
}

fn to_pod(name: &str) -> Value {
    json!({"spec": {"boundObjectRef": {"apiVersion": "v1", "kind": "Pod", "name": name},
        "expirationSeconds": POD_LIFETIME}})
}

fn token(api: &Api, request: &Value) -> String {
    let answer = api.request_token("ns", "robot", request).unwrap();
    answer["status"]["token"].as_str().unwrap().to_owned()
}

#[test]
fn a_token_is_its_account_for_an_hour() {
    let (api, now) = api();
    let answer = api.request_token("ns", "robot", &json!({})).unwrap();
    assert_eq!(answer["spec"]["expirationSeconds"], 3600);
    assert_eq!(answer["spec"]["audiences"], json!([AUDIENCE]));
    let token = answer["status"]["token"].as_str().unwrap();
    let account = api.store().get(Collection::SERVICE_ACCOUNTS, "ns", "robot").unwrap();
    let user = api.authenticate(token).unwrap();
    assert_eq!(
        (user.name.as_str(), user.uid.as_str()),
        ("system:serviceaccount:ns:robot", text(&account, "uid"))
    );
    *now.lock().unwrap() += SignedDuration::from_secs(3662);
    assert_eq!(api.authenticate(token), Err("service account token has expired".to_owned()));
}

#[test]
fn a_pods_token_names_pod_and_node_and_lives_a_year() {
    let (api, now) = api();
    let token = token(&api, &to_pod("p"));
    let user = api.authenticate(&token).unwrap();
    let extra = |name: &str| user.extra[&format!("{EXTRA}/{name}")].join(",");
    assert_eq!((extra("pod-name"), extra("node-name")), ("p".to_owned(), "n1".to_owned()));
    assert!(extra("credential-id").starts_with("JTI="));
    *now.lock().unwrap() += SignedDuration::from_hours(24);
    assert!(api.authenticate(&token).is_ok());
}

#[test]
fn a_token_dies_with_its_pod_and_with_its_account() {
    let (api, now) = api();
    let (of_pod, of_account) = (token(&api, &to_pod("p")), token(&api, &json!({})));
    let delete = |collection: Collection, name| {
        api.delete(collection.resource(), "ns", name, &DeleteOptions::default()).unwrap()
    };
    delete(Collection::PODS, "p");
    // The pod has its grace period, and clocks a minute.
    *now.lock().unwrap() += SignedDuration::from_secs(89);
    assert!(api.authenticate(&of_pod).is_ok());
    *now.lock().unwrap() += SignedDuration::from_secs(3);
    let dead = Err("service account token has been invalidated".to_owned());
    assert_eq!(api.authenticate(&of_pod), dead);
    assert!(api.authenticate(&of_account).is_ok());
    delete(Collection::SERVICE_ACCOUNTS, "robot");
    let gone = Err("serviceaccounts \"robot\" not found".to_owned());
    assert_eq!(api.authenticate(&of_account), gone);
}

#[test]
fn a_token_for_somebody_else_is_not_for_the_api_server() {
    let (api, _) = api();
    let token = token(&api, &json!({"spec": {"audiences": ["vault"]}}));
    assert!(api.authenticate(&token).unwrap_err().contains("vault"));
    let (_, heard) = api.authenticate_for(&token, &["a".to_owned(), "vault".to_owned()]).unwrap();
    assert_eq!(heard, ["vault"]);
}

#[test]
fn requests_that_make_no_sense_are_refused_in_the_original_s_words() {
    let (api, _) = api();
    let refusal = |account, request| {
        let status = api.request_token("ns", account, &request).unwrap_err();
        format!("{} {}", status.code, status.message)
    };
    assert_eq!(refusal("nobody", json!({})), "404 serviceaccounts \"nobody\" not found");
    assert_eq!(refusal("robot", to_pod("q")), "404 pods \"q\" not found");
    assert_eq!(
        refusal("other", to_pod("p")),
        "400 cannot bind token for serviceaccount \"other\" to pod running with different \
         serviceaccount name."
    );
    let mut stale = to_pod("p");
    stale["spec"]["boundObjectRef"]["uid"] = json!("u0");
    let conflict = refusal("robot", stale);
    assert!(
        conflict.starts_with(
            "409 Operation cannot be fulfilled on Pod \"p\": the UID in the bound object \
             reference (u0) does not match the UID in record."
        ),
        "{conflict}"
    );
    assert_eq!(
        refusal("robot", json!({"spec": {"expirationSeconds": 60}})),
        "422 TokenRequest.authentication.k8s.io \"\" is invalid: spec.expirationSeconds: Invalid \
         value: 60: may not specify a duration less than 10 minutes"
    );
}
