use std::sync::Arc;

use serde_json::json;

use super::*;
use crate::api::Api;
use crate::auth::{ResourceTarget, Target};

/// An API with the default roles, and the namespaces `kube-system`, `a` and `b`.
fn api() -> Api {
    let api = Api::new(Arc::new(Store::new()));
    for name in ["kube-system", "a", "b"] {
        make(&api, Collection::NAMESPACES, "", json!({"metadata": {"name": name}}));
    }
    create_default_roles(&api);
    api
}

fn make(api: &Api, collection: Collection, namespace: &str, object: Value) {
    api.create(collection.resource(), namespace, object, false).unwrap();
}

/// What is asked, as `verb group/resource[/subresource] [name]` in a namespace.
fn ask(api: &Api, user: &User, namespace: &str, what: &str) -> Decision {
    let mut words = what.split(' ');
    let verb = words.next().unwrap();
    let (group, resource) = words.next().unwrap().split_once(':').unwrap();
    let (resource, subresource) = resource.split_once('/').unwrap_or((resource, ""));
    let target = ResourceTarget {
        group: group.to_owned(),
        resource: resource.to_owned(),
        subresource: subresource.to_owned(),
        namespace: namespace.to_owned(),
        name: words.next().unwrap_or_default().to_owned(),
    };
    authorize(api.store(), user, &Attributes::on(verb, target))
}

fn role(name: &str, rules: impl Into<Value>) -> Value {
    json!({"metadata": {"name": name}, "rules": rules.into()})
}

fn binding(name: &str, kind: &str, role: &str, subject: impl Into<Value>) -> Value {
    json!({"metadata": {"name": name}, "subjects": [subject.into()],
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": role}})
}

#[test]
fn a_role_counts_in_its_namespace_and_a_cluster_role_everywhere() {
    let api = api();
    let rules = json!([{"verbs": ["list"], "apiGroups": [""], "resources": ["pods"]}]);
    make(&api, Collection::ROLES, "a", role("lister", rules.clone()));
    make(&api, Collection::CLUSTER_ROLES, "", role("lister", rules));
    let robot = json!({"kind": "ServiceAccount", "name": "robot"});
    make(&api, Collection::ROLE_BINDINGS, "a", binding("b", "Role", "lister", robot));
    let robot = User::service_account("a", "robot", "u");
    let decision = ask(&api, &robot, "a", "list :pods");
    assert_eq!(
        decision.reason,
        "RBAC: allowed by RoleBinding \"b/a\" of Role \"lister\" to ServiceAccount \"robot/a\""
    );
    assert!(!ask(&api, &robot, "b", "list :pods").allowed);
    assert!(!ask(&api, &robot, "", "list :pods").allowed);
    assert!(!ask(&api, &User::service_account("b", "robot", "u"), "a", "list :pods").allowed);
    // A binding in a namespace narrows a cluster role to it.
    let eve = json!({"kind": "User", "name": "eve"});
    make(&api, Collection::ROLE_BINDINGS, "b", binding("b", "ClusterRole", "lister", eve));
    let eve = User::named("eve", &[]);
    assert!(ask(&api, &eve, "b", "list :pods").allowed);
    assert!(!ask(&api, &eve, "a", "list :pods").allowed);
    let group = json!({"kind": "Group", "name": "system:serviceaccounts:a"});
    let everywhere = binding("c", "ClusterRole", "lister", group);
    make(&api, Collection::CLUSTER_ROLE_BINDINGS, "", everywhere);
    assert!(ask(&api, &robot, "", "list :pods").allowed);
}

#[test]
fn a_binding_to_nothing_is_told_with_the_refusal() {
    let api = api();
    let eve = json!({"kind": "User", "name": "eve"});
    make(&api, Collection::ROLE_BINDINGS, "a", binding("b", "Role", "no", eve.clone()));
    let user = User::named("eve", &[]);
    let decision = ask(&api, &user, "a", "list :pods");
    let one = "role.rbac.authorization.k8s.io \"no\" not found";
    assert_eq!((decision.allowed, decision.reason), (false, format!("RBAC: {one}")));
    let none = binding("c", "ClusterRole", "none", eve);
    make(&api, Collection::CLUSTER_ROLE_BINDINGS, "", none);
    let two = "clusterrole.rbac.authorization.k8s.io \"none\" not found";
    assert_eq!(ask(&api, &user, "a", "list :pods").reason, format!("RBAC: [{two}, {one}]"));
}

#[test]
fn everybody_finds_out_what_there_is_and_nobody_more() {
    let api = api();
    let get = |user: &User, path: &str| {
        let what = Attributes { verb: "get".into(), target: Target::Path(path.into()) };
        authorize(api.store(), user, &what).allowed
    };
    let (robot, nobody) = (User::service_account("a", "robot", "u"), User::anonymous());
    assert!(get(&robot, "/apis/apps/v1") && get(&robot, "/openapi/v3") && get(&nobody, "/version"));
    assert!(!get(&nobody, "/apis") && !get(&robot, "/metrics"));
    let review = "create authorization.k8s.io:selfsubjectaccessreviews";
    assert!(ask(&api, &robot, "", review).allowed && !ask(&api, &nobody, "", review).allowed);
    assert!(!ask(&api, &robot, "a", "get :secrets x").allowed);
    assert!(ask(&api, &User::admin(), "a", "get :secrets x").allowed);
}

#[test]
fn the_schedulers_role_is_that_of_kube_scheduler() {
    let api = api();
    let scheduler = User::named("system:kube-scheduler", &["system:authenticated"]);
    for what in [
        "watch :pods",
        "create :pods/binding p",
        "patch :pods/status p",
        "update coordination.k8s.io:leases kube-scheduler",
        "create events.k8s.io:events",
        "update :persistentvolumeclaims c",
        "list storage.k8s.io:storageclasses",
        "get :configmaps extension-apiserver-authentication",
    ] {
        assert!(ask(&api, &scheduler, "kube-system", what).allowed, "{what}");
    }
    for what in [
        "get coordination.k8s.io:leases other",
        "create :pods",
        "list :secrets",
        "get :configmaps other",
    ] {
        assert!(!ask(&api, &scheduler, "a", what).allowed, "{what}");
    }
}

#[test]
fn nobody_hands_out_what_he_does_not_have() {
    let api = api();
    let rules = json!([{"verbs": ["get"], "apiGroups": [""], "resources": ["pods"]},
        {"verbs": ["*"], "apiGroups": ["rbac.authorization.k8s.io"], "resources": ["roles"],
         "resourceNames": ["free"]}]);
    make(&api, Collection::ROLES, "a", role("mine", rules));
    let eve = json!({"kind": "User", "name": "eve"});
    make(&api, Collection::ROLE_BINDINGS, "a", binding("b", "Role", "mine", eve.clone()));
    let user = User::named("eve", &["team"]);
    let check = |collection: Collection, namespace: &str, object: &Value| {
        let checked = check_grant(api.store(), &user, collection.resource(), namespace, object);
        checked.map_err(|it| format!("{} {}", it.code, it.message))
    };
    let pods = |verbs: Value| json!([{"verbs": verbs, "apiGroups": [""], "resources": ["pods"]}]);
    let wanted = role("more", pods(json!(["get", "list", "watch"])));
    assert_eq!(check(Collection::ROLES, "a", &role("less", pods(json!(["get"])))), Ok(()));
    assert_eq!(
        check(Collection::ROLES, "a", &wanted),
        Err("403 roles.rbac.authorization.k8s.io \"more\" is forbidden: user \"eve\" \
             (groups=[\"team\"]) is attempting to grant RBAC permissions not currently held:\n\
             {APIGroups:[\"\"], Resources:[\"pods\"], Verbs:[\"list\" \"watch\"]}"
            .to_owned())
    );
    // What she has in one namespace, she has not in the cluster; and this role she may escalate.
    assert!(check(Collection::CLUSTER_ROLES, "", &role("less", pods(json!(["get"])))).is_err());
    assert_eq!(check(Collection::ROLES, "a", &role("free", pods(json!(["*"])))), Ok(()));
    let bind = |role| binding("x", "Role", role, eve.clone());
    assert_eq!(check(Collection::ROLE_BINDINGS, "a", &bind("mine")), Ok(()));
    let missing = "404 rolebindings.rbac.authorization.k8s.io \"no\" not found".to_owned();
    assert_eq!(check(Collection::ROLE_BINDINGS, "a", &bind("no")), Err(missing));
    let admin = binding("x", "ClusterRole", "cluster-admin", eve.clone());
    let refused = check(Collection::ROLE_BINDINGS, "a", &admin).unwrap_err();
    assert!(refused.contains("{APIGroups:[\"*\"], Resources:[\"*\"], Verbs:[\"*\"]}"), "{refused}");
}
