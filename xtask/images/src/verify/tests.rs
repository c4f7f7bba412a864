use http::StatusCode;

use super::*;
use crate::{
    fixture::{Built, built},
    oci::media_type,
    push::{Existing, push},
    scripted::{Faults, Quiet, Scripted},
};

/// A registry that has the image.
async fn pushed(it: &Built, faults: Faults) -> Scripted {
    let registry = Scripted::start(faults).await;
    let target = (&registry.repository(), "v1");
    push((&it.layout, &it.image), target, Existing::Overwrite, &Quiet).await.unwrap();
    registry
}

async fn report(registry: &Scripted, built: Option<&Image>) -> Report {
    verify(&registry.repository(), "v1", built, &Quiet).await.unwrap()
}

/// What is wrong, as `WHAT OF: STATE`.
fn wrong(report: &Report) -> Vec<String> {
    let wrong = report.parts.iter().filter(|it| it.state != State::Right);
    let name = |it: &State| format!("{it:?}").split(' ').next().unwrap_or_default().to_owned();
    wrong.map(|it| format!("{} {}: {}", it.what, it.of, name(&it.state))).collect()
}

#[tokio::test]
async fn a_registry_that_has_everything_is_right_with_and_without_a_build() {
    let it = built("one");
    let registry = pushed(&it, Faults::default()).await;
    let whole = report(&registry, Some(&it.image)).await;
    assert_eq!(wrong(&whole), [""; 0]);
    assert!(whole.is_right());
    // An index, three of each platform, three of the bill of materials.
    assert_eq!(whole.parts.len(), 10);
    assert_eq!(whole.tags, ["v1"], "lists of referrers are no tags of people's");
    assert_eq!(whole.found, whole.built);
    let alone = report(&registry, None).await;
    assert_eq!((alone.parts.len(), alone.built.clone()), (10, None));
    assert!(alone.is_right());
    assert!(table(&alone).contains("Nothing was built here"));
}

#[tokio::test]
async fn a_layer_that_was_tampered_with_is_found() {
    let it = built("one");
    let registry = pushed(&it, Faults::default()).await;
    let layer = &it.image.platforms[1].manifest.layers[0].digest;
    registry.tamper(layer, Some(b"something else"));
    let report = report(&registry, Some(&it.image)).await;
    assert_eq!(wrong(&report), ["layer linux/arm64: Tampered"]);
    assert!(!report.is_right());
    let actual = Digest::of(b"something else").to_string();
    let text = table(&report);
    assert!(text.contains(&format!("TAMPERED: content is {}", &actual[..19])), "{text}");
    assert!(text.contains("1 part is not as it should be: content was changed"), "{text}");
}

#[tokio::test]
async fn each_missing_part_is_named() {
    let it = built("one");
    let platform = &it.image.platforms[0];
    let referrer = &it.image.referrers[0];
    let cases = [
        (&platform.descriptor.digest, "manifest linux/amd64: Missing"),
        (&platform.manifest.config.digest, "config linux/amd64: Missing"),
        (&platform.manifest.layers[0].digest, "layer linux/amd64: Missing"),
        (&referrer.descriptor.digest, "referrer application/spdx+json: Missing"),
    ];
    for (digest, expected) in cases {
        let registry = pushed(&it, Faults::default()).await;
        registry.tamper(digest, None);
        assert_eq!(wrong(&report(&registry, Some(&it.image)).await), [expected]);
    }
    let nothing = Scripted::start(Faults::default()).await;
    let report = report(&nothing, Some(&it.image)).await;
    assert_eq!(wrong(&report), ["index v1: Missing"]);
    assert_eq!(report.tags, [""; 0]);
}

#[tokio::test]
async fn another_image_under_the_tag_is_told_from_a_damaged_one() {
    let (one, two) = (built("one"), built("two"));
    let registry = pushed(&two, Faults::default()).await;
    let report = report(&registry, Some(&one.image)).await;
    let expected = [
        "index v1: Other",
        "manifest linux/amd64: Other",
        "manifest linux/arm64: Other",
        "referrer application/spdx+json: Missing",
    ];
    assert_eq!(wrong(&report), expected);
    assert!(table(&report).contains("--overwrite"), "{}", table(&report));
}

#[tokio::test]
async fn platforms_that_are_left_out_or_too_many_are_named() {
    let it = built("one");
    let registry = pushed(&it, Faults::default()).await;
    let mut alone = it.image.clone();
    let last = alone.platforms.pop().unwrap();
    assert_eq!(wrong(&report(&registry, Some(&alone)).await), ["manifest linux/arm64: Unknown"]);

    let index = Index::new(vec![last.descriptor], std::collections::BTreeMap::new());
    let index = serde_json::to_vec(&index).unwrap();
    registry.repository().put_manifest("v1", media_type::INDEX, &index).await.unwrap();
    let expected = [
        "index v1: Other",
        "manifest linux/amd64: Missing",
        "referrer application/spdx+json: Unlisted",
    ];
    assert_eq!(wrong(&report(&registry, Some(&it.image)).await), expected);
}

#[tokio::test]
async fn a_digest_that_the_registry_makes_up_is_not_believed() {
    let it = built("one");
    let registry = pushed(&it, Faults::default()).await;
    let made_up = Digest::of(b"made up").to_string();
    registry.order(Faults { digest: Some(("/manifests/v1", made_up)), ..Faults::default() });
    let report = report(&registry, Some(&it.image)).await;
    assert_eq!(wrong(&report), ["index v1: Tampered"]);
    assert!(!report.is_right());
}

#[tokio::test]
async fn what_breaks_off_each_time_is_no_verdict_but_a_fault() {
    let it = built("one");
    let registry = pushed(&it, Faults::default()).await;
    registry.order(Faults { cut: Some("/blobs/"), ..Faults::default() });
    let fault = verify(&registry.repository(), "v1", Some(&it.image), &Quiet).await.unwrap_err();
    assert!(matches!(fault.kind, Kind::Broken(_)), "{fault}");
}

#[tokio::test]
async fn every_third_connection_may_break() {
    let it = built("one");
    let registry = pushed(&it, Faults { drop_every: Some(3), ..Faults::default() }).await;
    assert!(report(&registry, Some(&it.image)).await.is_right());
}

#[tokio::test]
async fn what_is_no_index_is_malformed() {
    let it = built("one");
    let registry = pushed(&it, Faults::default()).await;
    registry.order(Faults {
        answers: vec![("GET /manifests/v1", 1, StatusCode::OK, "{}".to_owned())],
        ..Faults::default()
    });
    let report = report(&registry, Some(&it.image)).await;
    assert_eq!(wrong(&report), ["index v1: Malformed"]);
}
