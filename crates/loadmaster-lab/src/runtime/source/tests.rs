use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use axum::Router;
use axum::extract::{Path as UrlPath, State};
use axum::response::{IntoResponse as _, Redirect, Response as Answer};
use axum::routing::get;
use serde_json::json;
use tempfile::TempDir;

use super::*;
use crate::runtime::fixture;
use crate::runtime::images::Images;

fn layout() -> (TempDir, String) {
    let folder = tempfile::tempdir().unwrap();
    let files: &[(&str, &[u8])] = &[("bin/hello", b"#!/bin/sh\necho hello\n")];
    let digest = fixture::layout(folder.path(), "v1", files, &json!({"Cmd": ["/bin/hello"]}));
    (folder, digest)
}

fn parse(name: &str) -> Reference {
    Reference::parse(name).unwrap()
}

/// Serves a layout as a registry does; blobs are a redirection away.
async fn registry(folder: &Path) -> String {
    async fn manifest(
        State(folder): State<Arc<PathBuf>>,
        UrlPath((_, wanted)): UrlPath<(String, String)>,
    ) -> Answer {
        let index: serde_json::Value =
            serde_json::from_slice(&fs::read(folder.join("index.json")).unwrap()).unwrap();
        let digest = if wanted.contains(':') {
            wanted
        } else {
            let top = &index["manifests"][0];
            if top["annotations"][REF_NAME] != wanted.as_str() {
                return http::StatusCode::NOT_FOUND.into_response();
            }
            top["digest"].as_str().unwrap().to_owned()
        };
        fs::read(blob_path(&folder, &digest).unwrap()).unwrap().into_response()
    }
    async fn blob(UrlPath((_, digest)): UrlPath<(String, String)>) -> Redirect {
        Redirect::temporary(&format!("/elsewhere/{digest}"))
    }
    async fn elsewhere(
        State(folder): State<Arc<PathBuf>>,
        UrlPath(digest): UrlPath<String>,
    ) -> Vec<u8> {
        fs::read(blob_path(&folder, &digest).unwrap()).unwrap()
    }
    let router = Router::new()
        .route("/v2/{name}/manifests/{wanted}", get(manifest))
        .route("/v2/{name}/blobs/{digest}", get(blob))
        .route("/elsewhere/{digest}", get(elsewhere))
        .with_state(Arc::new(folder.to_owned()));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move { axum::serve(listener, router).await });
    url
}

fn from_layout(folder: &Path, store: &Path) -> Images {
    let name = parse("forge.lab:5000/hello:v1");
    Images::new(store.to_owned(), BTreeMap::new(), vec![(name, folder.to_owned())])
}

fn from_registry(url: &str, store: &Path) -> Images {
    let registries = BTreeMap::from([("forge.lab:5000".to_owned(), url.to_owned())]);
    Images::new(store.to_owned(), registries, Vec::new())
}

#[tokio::test]
async fn an_image_comes_from_a_layout_and_from_a_registry_alike() {
    let (folder, digest) = layout();
    let url = registry(folder.path()).await;
    for images in [
        from_layout(folder.path(), &folder.path().join("a")),
        from_registry(&url, &folder.path().join("b")),
    ] {
        for name in ["forge.lab:5000/hello:v1", &format!("forge.lab:5000/hello@{digest}")] {
            let name = parse(name);
            assert!(images.is_mapped(&name));
            let image = images.pull(&name).await.unwrap().image;
            assert_eq!(image.id, format!("forge.lab:5000/hello@{digest}"));
            assert_eq!(image.config.cmd, ["/bin/hello"]);
            assert!(image.root.join("bin/hello").is_file());
            assert!(images.present(&name).await.is_some());
        }
    }
    assert!(!from_registry(&url, folder.path()).is_mapped(&parse("busybox")));
}

#[tokio::test]
async fn what_is_missing_is_named() {
    let (folder, _) = layout();
    let url = registry(folder.path()).await;
    let store = folder.path().join("store");
    let wanted = parse("forge.lab:5000/hello:v2");
    let refusal = from_registry(&url, &store).pull(&wanted).await.unwrap_err();
    assert_eq!(refusal.to_string(), format!("{url}/v2/hello/manifests/v2: not found"));
    let refusal = Source::Layout(folder.path().to_owned()).root(&wanted).await.unwrap_err();
    assert!(refusal.to_string().ends_with("(it has [\"v1\"]): not found"), "{refusal}");
    // A port where nobody listens, since its listener is gone.
    let gone = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    let refusal = from_registry(&format!("http://{gone}"), &store).pull(&wanted).await.unwrap_err();
    let text = refusal.to_string();
    assert!(text.starts_with("failed to do request: Get \"http://127.0.0.1:"), "{text}");
    assert!(text.contains(&format!("dial tcp {gone}: connect: Connection refused")), "{text}");
}

#[tokio::test]
async fn a_layer_that_was_tampered_with_is_refused_and_not_kept() {
    let (folder, _) = layout();
    for blob in fs::read_dir(folder.path().join("blobs/sha256")).unwrap() {
        let path = blob.unwrap().path();
        let mut bytes = fs::read(&path).unwrap();
        if !bytes.starts_with(b"{") {
            bytes[600] ^= 1;
            fs::write(&path, bytes).unwrap();
        }
    }
    let url = registry(folder.path()).await;
    let name = parse("forge.lab:5000/hello:v1");
    for (images, store) in [
        (from_layout(folder.path(), &folder.path().join("a")), "a"),
        (from_registry(&url, &folder.path().join("b")), "b"),
    ] {
        let refusal = images.pull(&name).await.unwrap_err();
        assert!(matches!(refusal, PullError::Digest { .. }), "{refusal}");
        let unpacked = folder.path().join(store).join("unpacked");
        assert!(!unpacked.exists());
        // The configuration is there, the layer is not.
        assert_eq!(fs::read_dir(folder.path().join(store).join("blobs")).unwrap().count(), 1);
    }
}
