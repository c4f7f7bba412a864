use http::{HeaderMap, HeaderName, HeaderValue};
use rustls::pki_types::CertificateDer;
use serde_json::{Value, json};

use super::{
    cluster::{Authority, Cluster},
    flags,
};
use crate::serving::access::{Access, Decision};

fn headers(pairs: &[(&str, &str)]) -> HeaderMap {
    pairs
        .iter()
        .map(|(name, value)| {
            (name.parse::<HeaderName>().unwrap(), HeaderValue::from_str(value).unwrap())
        })
        .collect()
}

fn forbidden(user: &str, reason: &str) -> Decision {
    Decision::Forbidden { user: user.to_owned(), reason: reason.to_owned() }
}

async fn get(
    access: &Access,
    path: &str,
    with: &[(&str, &str)],
    certificates: &[CertificateDer<'static>],
) -> Decision {
    access.decide("get", path, &headers(with), certificates).await
}

#[tokio::test]
async fn the_cluster_says_whose_a_token_is_and_what_they_may_and_is_not_asked_again_at_once() {
    let cluster = Cluster::start(Value::Null).await;
    let access =
        Access::new(&flags(&["--authentication-skip-lookup"]), &cluster.rest).await.unwrap();
    let good = [("authorization", "Bearer good")];
    for _ in 0..3 {
        assert_eq!(get(&access, "/metrics", &good, &[]).await, Decision::Allowed);
    }
    assert_eq!(cluster.reviews(), 2, "one of the token, one of the access");
    assert_eq!(get(&access, "/configz", &good, &[]).await, forbidden("prometheus", ""));
    let bad = [("authorization", "bearer bad")];
    for _ in 0..2 {
        assert_eq!(get(&access, "/metrics", &bad, &[]).await, Decision::Unauthorized);
    }
    assert_eq!(cluster.reviews(), 4);
}

#[tokio::test]
async fn nobody_in_particular_reads_health_alone() {
    let cluster = Cluster::start(Value::Null).await;
    let access =
        Access::new(&flags(&["--authentication-skip-lookup"]), &cluster.rest).await.unwrap();
    for path in ["/livez", "/readyz", "/healthz"] {
        assert_eq!(get(&access, path, &[], &[]).await, Decision::Allowed, "{path}");
    }
    assert_eq!(cluster.reviews(), 0);
    for path in ["/livez/ping", "/metrics", "/"] {
        let anonymous = forbidden("system:anonymous", "");
        assert_eq!(get(&access, path, &[], &[]).await, anonymous, "{path}");
    }
    let wide = flags(&["--authentication-skip-lookup", "--authorization-always-allow-paths=/li*"]);
    let access = Access::new(&wide, &cluster.rest).await.unwrap();
    assert_eq!(get(&access, "/livez/ping", &[], &[]).await, Decision::Allowed);
    assert_ne!(get(&access, "/readyz", &[], &[]).await, Decision::Allowed);
}

#[tokio::test]
async fn a_review_that_breaks_lets_nobody_in() {
    let cluster = Cluster::start(Value::Null).await;
    let access =
        Access::new(&flags(&["--authentication-skip-lookup"]), &cluster.rest).await.unwrap();
    let broken = [("authorization", "Bearer broken")];
    assert_eq!(get(&access, "/metrics", &broken, &[]).await, Decision::Unauthorized);
}

#[tokio::test]
async fn a_certificate_of_the_clusters_authority_names_who_asks() {
    let (authority, stranger) = (Authority::new(), Authority::new());
    let told = json!({"data": {"client-ca-file": authority.pem}});
    let cluster = Cluster::start(told).await;
    let access = Access::new(&flags(&[]), &cluster.rest).await.unwrap();
    let admin = authority.certify("admin", "system:masters").certificate;
    assert_eq!(get(&access, "/metrics", &[], &[admin]).await, Decision::Allowed);
    let jane = authority.certify("jane", "developers").certificate;
    assert_eq!(get(&access, "/metrics", &[], &[jane]).await, forbidden("jane", "no role"));
    let mallory = stranger.certify("admin", "system:masters").certificate;
    assert_eq!(
        get(&access, "/metrics", &[], std::slice::from_ref(&mallory)).await,
        Decision::Unauthorized
    );
    let good = [("authorization", "Bearer good")];
    assert_eq!(get(&access, "/metrics", &good, &[mallory]).await, Decision::Allowed);
}

#[tokio::test]
async fn a_proxy_that_the_cluster_believes_speaks_for_others() {
    let (clients, proxies) = (Authority::new(), Authority::new());
    let told = json!({"data": {
        "client-ca-file": clients.pem,
        "requestheader-client-ca-file": proxies.pem,
        "requestheader-allowed-names": "[\"front-proxy-client\"]",
        "requestheader-username-headers": "[\"X-Remote-User\"]",
        "requestheader-group-headers": "[\"X-Remote-Group\"]",
        "requestheader-extra-headers-prefix": "[\"X-Remote-Extra-\"]",
        "requestheader-uid-headers": "[\"X-Remote-Uid\"]",
    }});
    let cluster = Cluster::start(told).await;
    let access = Access::new(&flags(&[]), &cluster.rest).await.unwrap();
    let for_prometheus = [
        ("x-remote-user", "prometheus"),
        ("x-remote-uid", "7"),
        ("x-remote-group", "monitoring"),
        ("x-remote-extra-pod", "p"),
    ];
    let proxy = proxies.certify("front-proxy-client", "").certificate;
    assert_eq!(get(&access, "/metrics", &for_prometheus, &[proxy]).await, Decision::Allowed);
    let other = proxies.certify("somebody", "").certificate;
    assert_eq!(get(&access, "/metrics", &for_prometheus, &[other]).await, Decision::Unauthorized);
    let client = clients.certify("jane", "developers").certificate;
    assert_eq!(
        get(&access, "/metrics", &for_prometheus, &[client]).await,
        forbidden("jane", "no role"),
        "a client's own certificate lets it speak for nobody else"
    );
}

#[tokio::test]
async fn a_cluster_that_tells_no_authorities_is_tolerated_unless_it_must_not_be() {
    let cluster = Cluster::start(Value::Null).await;
    assert!(Access::new(&flags(&[]), &cluster.rest).await.is_ok());
    let strict = flags(&["--authentication-tolerate-lookup-failure=false"]);
    let error = Access::new(&strict, &cluster.rest).await.unwrap_err();
    assert!(format!("{error:#}").contains("extension-apiserver-authentication"), "{error:#}");
    let missing = flags(&["--client-ca-file=/nowhere/ca.crt"]);
    let error = Access::new(&missing, &cluster.rest).await.map(|_| ()).unwrap_err();
    assert!(format!("{error:#}").contains("/nowhere/ca.crt"), "{error:#}");
}
