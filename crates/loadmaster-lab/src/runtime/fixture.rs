//! Images of one small layer, for tests.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

const LAYER: &str = "application/vnd.oci.image.layer.v1.tar";
const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";
const INDEX: &str = "application/vnd.oci.image.index.v1+json";

/// Writes a layout with the image `tag` for this machine, whose files these are, all of them
/// executable; answers the digest of its index.
pub(crate) fn layout(folder: &Path, tag: &str, files: &[(&str, &[u8])], config: &Value) -> String {
    let mut builder = tar::Builder::new(Vec::new());
    for (path, content) in files {
        let mut header = tar::Header::new_gnu();
        header.set_mode(0o755);
        header.set_size(content.len() as u64);
        builder.append_data(&mut header, path, *content).unwrap();
    }
    let layer = blob(folder, LAYER, &builder.into_inner().unwrap());
    let config = json!({"architecture": architecture(), "os": "linux",
        "config": config, "rootfs": {"type": "layers", "diff_ids": []}});
    let config = document(folder, "application/vnd.oci.image.config.v1+json", &config);
    let manifest = json!({"schemaVersion": 2, "mediaType": MANIFEST, "config": config,
        "layers": [layer]});
    let mut manifest = document(folder, MANIFEST, &manifest);
    manifest["platform"] = json!({"os": "linux", "architecture": architecture()});
    let index = json!({"schemaVersion": 2, "mediaType": INDEX, "manifests": [manifest]});
    let mut index = document(folder, INDEX, &index);
    let digest = index["digest"].as_str().unwrap().to_owned();
    index["annotations"] = json!({"org.opencontainers.image.ref.name": tag});
    let top = json!({"schemaVersion": 2, "manifests": [index]});
    fs::write(folder.join("index.json"), top.to_string()).unwrap();
    fs::write(folder.join("oci-layout"), r#"{"imageLayoutVersion":"1.0.0"}"#).unwrap();
    digest
}

fn architecture() -> &'static str {
    if cfg!(target_arch = "aarch64") { "arm64" } else { "amd64" }
}

fn document(folder: &Path, media_type: &str, value: &Value) -> Value {
    blob(folder, media_type, value.to_string().as_bytes())
}

fn blob(folder: &Path, media_type: &str, bytes: &[u8]) -> Value {
    let mut hex = String::new();
    for byte in Sha256::digest(bytes) {
        write!(hex, "{byte:02x}").unwrap();
    }
    let blobs = folder.join("blobs/sha256");
    fs::create_dir_all(&blobs).unwrap();
    fs::write(blobs.join(&hex), bytes).unwrap();
    json!({"mediaType": media_type, "digest": format!("sha256:{hex}"), "size": bytes.len()})
}
