use std::collections::BTreeMap;

use http::{HeaderMap, HeaderValue, StatusCode, header};
use http_body_util::BodyExt as _;
use serde_json::{Value, json};

use crate::serving::zpages::Zpages;

/// The status, the content type and the text of a page for a client that takes `accept`.
async fn page(pages: &Zpages, path: &str, accept: &str) -> Option<(StatusCode, String, String)> {
    let mut headers = HeaderMap::new();
    headers.insert(header::ACCEPT, HeaderValue::from_str(accept).unwrap());
    let at = |text: &str| text.parse().unwrap();
    let (started, now) = (at("2026-11-30T01:31:27Z"), at("2026-11-30T02:32:35Z"));
    let reply = pages.answer(path, &headers, started, now)?;
    let media = reply.headers()[header::CONTENT_TYPE].to_str().unwrap().to_owned();
    let status = reply.status();
    let body = reply.into_body().collect().await.unwrap().to_bytes();
    Some((status, media, String::from_utf8(body.to_vec()).unwrap()))
}

fn pages() -> Zpages {
    let flags = [("config", ""), ("leader-elect", "true")];
    let flags = flags.map(|(name, value)| (name.to_owned(), value.to_owned()));
    Zpages { flags: Some(BTreeMap::from(flags)), status: true }
}

const WARNING: &str = "Warning: This endpoint is not meant to be machine parseable, has no formatting compatibility guarantees and is for debugging purposes only.";

#[tokio::test]
async fn pages_are_text_for_people() {
    let (_, media, flags) = page(&pages(), "/flagz", "*/*").await.unwrap();
    assert_eq!(media, "text/plain; charset=utf-8");
    let expected = format!("\nkube-scheduler flagz\n{WARNING}\nconfig=\nleader-elect=true\n");
    assert_eq!(flags, expected);
    let (_, _, status) = page(&pages(), "/statusz", "text/plain").await.unwrap();
    let version = env!("CARGO_PKG_VERSION");
    let expected = format!(
        "\nkube-scheduler statusz\n{WARNING}\nStarted: Mon Nov 30 01:31:27 UTC 2026\n\
         Up: 1 hr 01 min 08 sec\nBinary version: {version}\nEmulation version: 1.36\n\
         Paths: /configz /flagz /healthz /livez /metrics /readyz\n"
    );
    assert_eq!(status, expected);
}

#[tokio::test]
async fn pages_are_objects_for_programs_that_name_them_and_nothing_else() {
    let object = |format: &str, kind: &str| {
        format!("application/{format};as={kind};g=config.k8s.io;v=v1beta1")
    };
    let (_, media, text) = page(&pages(), "/flagz", &object("json", "Flagz")).await.unwrap();
    assert_eq!(media, "application/json;g=config.k8s.io;v=v1beta1;as=Flagz");
    let expected = json!({
        "kind": "Flagz", "apiVersion": "config.k8s.io/v1beta1",
        "metadata": {"name": "kube-scheduler"},
        "flags": {"config": "", "leader-elect": "true"}});
    assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), expected);
    let accept = format!("application/xml, {}", object("yaml", "Statusz"));
    let (_, media, text) = page(&pages(), "/statusz", &accept).await.unwrap();
    assert_eq!(media, "application/yaml;g=config.k8s.io;v=v1beta1;as=Statusz");
    let status: Value = serde_saphyr::from_str(&text).unwrap();
    assert_eq!(status["startTime"], "2026-11-30T01:31:27Z");
    assert_eq!(status["uptimeSeconds"], 3668);
    for accept in ["application/json", &object("json", "Statusz")] {
        let (status, _, text) = page(&pages(), "/flagz", accept).await.unwrap();
        assert_eq!(status, StatusCode::NOT_ACCEPTABLE);
        let expected = "only the following media types are accepted: application/json, \
                        application/yaml, text/plain";
        assert_eq!(serde_json::from_str::<Value>(&text).unwrap()["message"], expected);
    }
}

#[tokio::test]
async fn a_page_that_is_switched_off_is_not_there() {
    let pages = Zpages { flags: None, status: true };
    assert!(page(&pages, "/flagz", "*/*").await.is_none());
    let (_, _, status) = page(&pages, "/statusz", "*/*").await.unwrap();
    assert!(status.contains("Paths: /configz /healthz"), "{status}");
    assert!(page(&Zpages::default(), "/statusz", "*/*").await.is_none());
}
