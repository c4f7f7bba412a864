use http::StatusCode;
use oci_client::secrets::RegistryAuth;

use super::*;
use crate::{
    fixture::{Built, built},
    scripted::{Faults, Quiet, Scripted, repository, repository_of},
};

async fn push_to(registry: &Scripted, it: &Built) -> Result<Pushed, PushError> {
    let target = (&registry.repository(), "v1");
    push((&it.layout, &it.image), target, Existing::Keep, &Quiet).await
}

/// A push that fails; what it says, after a look at that nothing stands under the tag.
async fn failure(faults: Faults) -> String {
    let (it, registry) = (built("one"), Scripted::start(faults).await);
    let error = push_to(&registry, &it).await.unwrap_err().to_string();
    assert_eq!(registry.manifest("v1"), None, "{error}");
    error
}

fn answering(what: &'static str, times: usize, code: u16, body: &str) -> Faults {
    let answer = (what, times, StatusCode::from_u16(code).unwrap(), body.to_owned());
    Faults { answers: vec![answer], ..Faults::default() }
}

#[tokio::test]
async fn the_tag_comes_last_and_everything_before_it() {
    let (it, registry) = (built("one"), Scripted::start(Faults::default()).await);
    let pushed = push_to(&registry, &it).await.unwrap();
    // A config and a layer for each of two platforms, and the bill of materials with its config.
    assert_eq!((pushed.uploaded, pushed.present), (6, 0));
    assert_eq!(registry.log().last().unwrap(), "PUT /manifests/v1");
    let index = it.layout.get(&it.image.index).unwrap();
    assert_eq!(registry.manifest("v1").unwrap(), index);
}

#[tokio::test]
async fn what_the_registry_has_is_not_sent_again() {
    let (it, registry) = (built("one"), Scripted::start(Faults::default()).await);
    push_to(&registry, &it).await.unwrap();
    let before = registry.log().len();
    let again = push_to(&registry, &it).await.unwrap();
    assert_eq!((again.uploaded, again.present, again.replaced), (0, 6, None));
    assert!(registry.log()[before..].iter().all(|it| !it.starts_with("POST")));
}

#[tokio::test]
async fn a_registry_without_referrers_api_lists_them_under_the_subjects_tag_once() {
    let (it, registry) = (built("one"), Scripted::start(Faults::default()).await);
    push_to(&registry, &it).await.unwrap();
    push_to(&registry, &it).await.unwrap();
    let tag = it.image.index.digest.to_string().replace(':', "-");
    let list: serde_json::Value =
        serde_json::from_slice(&registry.manifest(&tag).unwrap()).unwrap();
    let listed = list["manifests"].as_array().unwrap();
    assert_eq!(listed.len(), 1);
    assert_eq!(listed[0]["digest"], it.image.referrers[0].descriptor.digest.to_string());
    assert_eq!(listed[0]["artifactType"], "application/spdx+json");

    let registry = Scripted::start(Faults { referrers: true, ..Faults::default() }).await;
    push_to(&registry, &it).await.unwrap();
    assert_eq!(registry.tags(), ["v1"]);
}

#[tokio::test]
async fn every_third_connection_may_break() {
    let faults = Faults { drop_every: Some(3), ..Faults::default() };
    let (it, registry) = (built("one"), Scripted::start(faults).await);
    push_to(&registry, &it).await.unwrap();
    assert!(registry.manifest("v1").is_some());
}

#[tokio::test]
async fn a_push_that_broke_off_goes_on_with_what_is_missing() {
    let (it, registry) =
        (built("one"), Scripted::start(answering("PUT /manifests/", 99, 503, "")).await);
    push_to(&registry, &it).await.unwrap_err();
    assert_eq!(registry.tags(), [""; 0]);
    registry.order(Faults::default());
    let again = push_to(&registry, &it).await.unwrap();
    assert_eq!((again.uploaded, again.present), (0, 6));
}

#[tokio::test]
async fn trouble_that_passes_is_sat_out() {
    for code in [429, 500, 503] {
        let faults = answering("POST /blobs/uploads", 5, code, "busy");
        let (it, registry) = (built("one"), Scripted::start(faults).await);
        push_to(&registry, &it).await.unwrap();
    }
    let lasting = failure(answering("POST /blobs/uploads", 99, 503, "down for maintenance")).await;
    assert!(lasting.contains("answers 503: down for maintenance"), "{lasting}");
    assert!(lasting.contains("the tag is as it was before"), "{lasting}");
}

#[tokio::test]
async fn a_full_disk_is_said_to_be_one_and_not_tried_again() {
    let body = r#"{"errors":[{"code":"UNKNOWN","message":"unknown error","detail":{"Err":28}}]}"#;
    let (it, registry) =
        (built("one"), Scripted::start(answering("PUT /blobs/", 99, 500, body)).await);
    let error = push_to(&registry, &it).await.unwrap_err().to_string();
    assert!(error.contains("disk is full"), "{error}");
    let puts = registry.log().iter().filter(|it| it.starts_with("PUT")).count();
    assert!(puts <= AT_ONCE, "{puts}");
}

#[tokio::test]
async fn a_registry_that_is_down_is_said_to_be_and_how_one_is_started() {
    let it = built("one");
    // A port that none but the system itself would listen on.
    let nobody = std::net::SocketAddr::from(([127, 0, 0, 1], 1));
    let repository = repository(nobody, RegistryAuth::Anonymous);
    let target = (&repository, "v1");
    let error = push((&it.layout, &it.image), target, Existing::Keep, &Quiet).await;
    let error = error.unwrap_err().to_string();
    assert!(error.contains(&format!("http://{nobody}")), "{error}");
    assert!(error.contains("Connection refused") && error.contains("forge up"), "{error}");
}

#[tokio::test]
async fn a_registry_without_tls_and_one_without_address_say_what_would_help() {
    let (it, registry) = (built("one"), Scripted::start(Faults::default()).await);
    // An address of this machine that does not read like one.
    let hidden = format!("[::ffff:127.0.0.1]:{}", registry.address().port());
    for (name, expected) in [(&*hidden, "--insecure-registry"), ("a.invalid:5000", "/etc/hosts")] {
        let endpoint = crate::transport::Endpoint::new(name, &BTreeMap::new(), &[]);
        let repository = repository_of(endpoint, RegistryAuth::Anonymous);
        let error =
            push((&it.layout, &it.image), (&repository, "v1"), Existing::Keep, &Quiet).await;
        let error = error.unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
}

#[tokio::test]
async fn a_tag_of_another_image_stays_unless_it_is_to_be_overwritten() {
    let registry = Scripted::start(Faults::default()).await;
    let (one, two) = (built("one"), built("two"));
    push_to(&registry, &one).await.unwrap();
    let before = registry.log().len();
    let error = push_to(&registry, &two).await.unwrap_err();
    let text = error.to_string();
    let (there, ours) = (&one.image.index.digest, &two.image.index.digest);
    assert!(matches!(error, PushError::Taken { .. }), "{text}");
    assert!(text.contains(&there.to_string()) && text.contains(&ours.to_string()), "{text}");
    assert!(text.contains("--overwrite"), "{text}");
    assert!(registry.log()[before..].iter().all(|it| it.starts_with("GET")), "nothing was sent");

    let target = (&registry.repository(), "v1");
    let pushed = push((&two.layout, &two.image), target, Existing::Overwrite, &Quiet).await;
    assert_eq!(pushed.unwrap().replaced.as_ref(), Some(there));
    assert_eq!(Digest::of(&registry.manifest("v1").unwrap()), *ours);
}

#[tokio::test]
async fn a_missing_location_is_an_error_for_uploads_and_none_for_manifests() {
    let uploads = failure(Faults { no_location: true, ..Faults::default() }).await;
    assert!(uploads.contains("answers oddly") && uploads.contains("location"), "{uploads}");
    // Some registries leave it out for manifests, where nobody needs it.
    let faults = answering("PUT /manifests/", 99, 201, "");
    let (it, registry) = (built("one"), Scripted::start(faults).await);
    push_to(&registry, &it).await.unwrap();
}

#[tokio::test]
async fn odd_answers_are_errors_that_show_them() {
    let cases = [
        (answering("POST /blobs/uploads", 99, 302, ""), "answers oddly"),
        (answering("PUT /blobs/uploads", 99, 200, "thanks"), "answers oddly"),
        (answering("HEAD /blobs/", 99, 418, ""), "refuses (418)"),
        (answering("POST /blobs/uploads", 99, 403, "no"), "does not allow it (no)"),
        (answering("GET /manifests/v1", 99, 200, "\u{1b}[2Jnot JSON"), "another image already"),
        (answering("GET /manifests/v1", 99, 401, ""), "wants other credentials"),
    ];
    for (faults, expected) in cases {
        let error = failure(faults).await;
        assert!(error.contains(expected), "{expected}: {error}");
    }
}

#[tokio::test]
async fn credentials_get_a_token_and_without_them_it_is_said_how_to_log_in() {
    let faults = Faults { token: Some("t"), ..Faults::default() };
    let (it, registry) = (built("one"), Scripted::start(faults).await);
    let error = push_to(&registry, &it).await.unwrap_err().to_string();
    assert!(error.contains("who are you?") && error.contains("docker login"), "{error}");
    let me = RegistryAuth::Basic("me".to_owned(), "secret".to_owned());
    let target = (&registry.repository_as(me), "v1");
    push((&it.layout, &it.image), target, Existing::Keep, &Quiet).await.unwrap();
}

#[tokio::test]
async fn a_token_that_no_header_can_carry_is_an_error() {
    let faults = Faults { token: Some("a\nb"), ..Faults::default() };
    let (it, registry) = (built("one"), Scripted::start(faults).await);
    let me = RegistryAuth::Basic("me".to_owned(), "secret".to_owned());
    let target = (&registry.repository_as(me), "v1");
    let error = push((&it.layout, &it.image), target, Existing::Keep, &Quiet).await.unwrap_err();
    assert!(error.to_string().contains("answers oddly"), "{error}");
}

#[tokio::test]
async fn content_that_was_changed_here_is_not_pushed() {
    let (it, registry) = (built("one"), Scripted::start(Faults::default()).await);
    let layer = &it.image.platforms[0].manifest.layers[0];
    std::fs::write(it.layout.path(&layer.digest), "another layer").unwrap();
    let error = push_to(&registry, &it).await.unwrap_err();
    assert!(matches!(error, PushError::Layout(LayoutError::Tampered(_))), "{error}");
    assert_eq!(registry.manifest("v1"), None);
}

/// Tells when the first content is through.
struct First(tokio::sync::Notify);

impl Progress for First {
    fn begin(&self, _: &str, _: u64) -> OnBytes {
        std::sync::Arc::new(|_| ())
    }

    fn end(&self, _: &str, _: bool) {
        self.0.notify_one();
    }
}

#[tokio::test]
async fn a_push_that_is_stopped_leaves_the_tag_alone_and_the_next_one_goes_on() {
    let (it, registry) = (built("one"), Scripted::start(Faults::default()).await);
    let (repository, first) = (registry.repository(), First(tokio::sync::Notify::new()));
    tokio::select! {
        biased;
        () = first.0.notified() => {}
        _ = push((&it.layout, &it.image), (&repository, "v1"), Existing::Keep, &first) => {
            panic!("it was not stopped");
        }
    }
    assert_eq!(registry.tags(), [""; 0]);
    let next = push_to(&registry, &it).await.unwrap();
    assert!(next.present > 0 && next.uploaded > 0, "{next:?}");
}
