use std::sync::Arc;

use super::*;
use crate::auth::rbac::create_default_roles;
use crate::resources::{Collection, by_kind};
use crate::store::Store;

fn api() -> Api {
    let api = Api::new(Arc::new(Store::new()));
    let make = |collection: Collection, namespace, object| {
        api.create(collection.resource(), namespace, object, false).unwrap()
    };
    for name in ["kube-system", "ns"] {
        make(Collection::NAMESPACES, "", json!({"metadata": {"name": name}}));
    }
    create_default_roles(&api);
    make(Collection::SERVICE_ACCOUNTS, "ns", json!({"metadata": {"name": "robot"}}));
    let view = json!({"metadata": {"name": "viewers"},
        "roleRef": {"kind": "ClusterRole", "name": "system:aggregate-to-view"},
        "subjects": [{"kind": "ServiceAccount", "name": "robot"}]});
    make(Collection::ROLE_BINDINGS, "ns", view);
    api
}

fn robot() -> User {
    User::service_account("ns", "robot", "u")
}

fn ask(api: &Api, user: &User, kind: &str, spec: impl Into<Value>) -> Result<Value, String> {
    let group = if kind.ends_with("AccessReview") || kind.contains("Rules") {
        "authorization.k8s.io/v1"
    } else {
        "authentication.k8s.io/v1"
    };
    let resource = by_kind(group, kind).unwrap();
    let namespace = if resource.namespaced { "ns" } else { "" };
    let answer = api.review(resource, namespace, &json!({"spec": spec.into()}), user);
    answer.map(|it| it["status"].clone()).map_err(|it| it.message)
}

fn on(verb: &str, namespace: &str, resource: &str) -> Value {
    json!({"verb": verb, "namespace": namespace, "resource": resource})
}

#[test]
fn one_may_ask_about_oneself() {
    let api = api();
    let may = |attributes: Value| {
        let spec = json!({"resourceAttributes": attributes});
        ask(&api, &robot(), "SelfSubjectAccessReview", spec).unwrap()
    };
    assert_eq!(
        may(on("list", "ns", "pods")),
        json!({"allowed": true, "reason": "RBAC: allowed by RoleBinding \"viewers/ns\" of \
            ClusterRole \"system:aggregate-to-view\" to ServiceAccount \"robot/ns\""})
    );
    assert_eq!(may(on("delete", "ns", "pods")), json!({"allowed": false}));
    let spec = json!({"resourceAttributes": on("delete", "ns", "pods")});
    let admin = ask(&api, &User::admin(), "SelfSubjectAccessReview", spec);
    assert_eq!(admin, Ok(json!({"allowed": true})));
    let path = json!({"nonResourceAttributes": {"verb": "get", "path": "/api"}});
    let status = ask(&api, &robot(), "SelfSubjectAccessReview", path).unwrap();
    assert_eq!(status["allowed"], true);
}

#[test]
fn one_may_ask_about_others() {
    let api = api();
    let admin = User::admin();
    let spec = |namespace: &str| {
        json!({"user": robot().name, "groups": robot().groups,
            "resourceAttributes": on("list", namespace, "pods")})
    };
    let about = |kind, spec| ask(&api, &admin, kind, spec);
    assert_eq!(about("SubjectAccessReview", spec("ns")).unwrap()["allowed"], true);
    assert_eq!(about("SubjectAccessReview", spec("")).unwrap()["allowed"], false);
    assert_eq!(about("LocalSubjectAccessReview", spec("ns")).unwrap()["allowed"], true);
    assert_eq!(
        about("LocalSubjectAccessReview", spec("other")).unwrap_err(),
        ".authorization.k8s.io \"\" is invalid: \
         spec.resourceAttributes.namespace: Invalid value: \"other\": must match metadata.namespace"
    );
    assert_eq!(
        about("SubjectAccessReview", json!({})).unwrap_err(),
        ".authorization.k8s.io \"\" is invalid: [spec.resourceAttributes: \
         Invalid value: null: exactly one of nonResourceAttributes or resourceAttributes must be \
         specified, spec.user: Invalid value: \"\": at least one of user or group must be specified]"
    );
}

#[test]
fn rules_are_told_as_they_stand_in_the_roles() {
    let api = api();
    let spec = json!({"namespace": "ns"});
    let status = ask(&api, &robot(), "SelfSubjectRulesReview", spec).unwrap();
    let rules = status["resourceRules"].as_array().unwrap();
    let own = json!({"verbs": ["create"], "apiGroups": ["authorization.k8s.io"],
        "resources": ["selfsubjectaccessreviews", "selfsubjectrulesreviews"]});
    assert!(rules.contains(&own));
    assert!(rules.iter().any(|it| Rule(it).texts("resources").any(|it| it == "pods/log")));
    let paths = status["nonResourceRules"].as_array().unwrap();
    assert!(paths.iter().all(|it| it["verbs"] == json!(["get"])));
    assert_eq!(status["incomplete"], false);
    let refused = ask(&api, &robot(), "SelfSubjectRulesReview", json!({})).unwrap_err();
    assert_eq!(refused, "no namespace on request");
}

#[test]
fn a_token_is_reviewed_as_it_would_be_believed() {
    let api = api();
    let answer = api.request_token("ns", "robot", &json!({})).unwrap();
    let token = &answer["status"]["token"];
    let review = |spec| ask(&api, &User::admin(), "TokenReview", spec).unwrap();
    let good = review(json!({"token": token}));
    assert_eq!((&good["authenticated"], &good["audiences"]), (&json!(true), &json!([AUDIENCE])));
    assert_eq!(good["user"]["username"], "system:serviceaccount:ns:robot");
    let bad = json!({"user": {}, "error": "invalid bearer token"});
    assert_eq!(review(json!({"token": "zzz"})), bad);
    assert_eq!(
        review(json!({"token": token, "audiences": ["vault"]}))["error"],
        format!(
            "[invalid bearer token, token audiences [\"{AUDIENCE}\"] is invalid for the target \
             audiences [\"vault\"]]"
        )
    );
    let refused = ask(&api, &User::admin(), "TokenReview", json!({})).unwrap_err();
    assert_eq!(refused, "token is required for TokenReview in authentication");
}

#[test]
fn a_self_review_says_who_one_is() {
    let status = ask(&api(), &User::admin(), "SelfSubjectReview", Value::Null).unwrap();
    let admin = json!({"username": "admin", "groups": ["system:masters", "system:authenticated"]});
    assert_eq!(status, json!({"userInfo": admin}));
}
