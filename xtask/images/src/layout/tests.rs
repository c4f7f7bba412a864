use std::collections::BTreeMap;

use super::*;
use crate::oci::{RootFs, RunConfig};

/// A layout with an image for one platform and something that refers to it.
fn layout(dir: &Path) -> (Layout, Image) {
    let layout = Layout::create(dir).unwrap();
    let platform: Platform = "linux/amd64".parse().unwrap();
    let layer = layout.put(media_type::LAYER_GZIP, b"layer").unwrap();
    let config = ImageConfig {
        created: None,
        platform: platform.clone(),
        config: RunConfig::default(),
        rootfs: RootFs { kind: "layers".into(), diff_ids: vec![Digest::of(b"layer")] },
        history: Vec::new(),
    };
    let config = layout.put_json(media_type::CONFIG, &config).unwrap();
    let manifest = Manifest::image(config, vec![layer], BTreeMap::new());
    let mut image = layout.put_json(media_type::MANIFEST, &manifest).unwrap();
    image.platform = Some(platform);
    let about = Manifest { subject: Some(image.clone()), ..manifest };
    let about = layout.put_json(media_type::MANIFEST, &about).unwrap();
    let index = Index::new(vec![image], BTreeMap::new());
    let mut index = layout.put_json(media_type::INDEX, &index).unwrap();
    index.annotations.insert(annotation::REF_NAME.into(), "v1".into());
    layout.write_index(&Index::new(vec![index, about], BTreeMap::new())).unwrap();
    let image = layout.image().unwrap();
    (layout, image)
}

#[test]
fn an_image_is_read_back_with_its_platforms_and_what_refers_to_them() {
    let dir = tempfile::tempdir().unwrap();
    let (_, image) = layout(dir.path());
    assert_eq!(image.tag, "v1");
    assert!(image.index.annotations.is_empty(), "the tag is the layout's, not the image's");
    assert_eq!(image.platforms[0].platform.to_string(), "linux/amd64");
    let subject = image.referrers[0].manifest.subject.as_ref().unwrap();
    assert_eq!(subject.digest, image.platforms[0].descriptor.digest);
    let left: Vec<_> =
        fs::read_dir(dir.path()).unwrap().map(|it| it.unwrap().file_name()).collect();
    assert_eq!(left.len(), 3, "nothing half-written is left: {left:?}");
}

#[test]
fn a_folder_without_an_image_says_how_to_build_one() {
    let dir = tempfile::tempdir().unwrap();
    let error = Layout::open(dir.path()).unwrap_err().to_string();
    assert!(error.contains("cargo xtask build-image"), "{error}");
}

#[test]
fn content_that_was_changed_or_removed_is_found() {
    let dir = tempfile::tempdir().unwrap();
    let (layout, image) = layout(dir.path());
    let layer = layout.path(&image.platforms[0].manifest.layers[0].digest);
    fs::write(&layer, b"LAYER").unwrap();
    let error = Layout::open(dir.path()).unwrap().image().unwrap_err();
    assert!(matches!(&error, LayoutError::Tampered(path) if *path == layer), "{error}");
    fs::write(&layer, b"longer layer").unwrap();
    assert!(matches!(layout.image().unwrap_err(), LayoutError::Tampered(_)));
    fs::remove_file(&layer).unwrap();
    assert!(matches!(layout.image().unwrap_err(), LayoutError::NoBlob { .. }));
}

#[test]
fn an_index_that_is_not_understood_names_the_field() {
    let dir = tempfile::tempdir().unwrap();
    let (layout, _) = layout(dir.path());
    let index =
        r#"{"schemaVersion":2,"manifests":[{"mediaType":"x","digest":"sha256:1","size":1}]}"#;
    fs::write(dir.path().join(INDEX), index).unwrap();
    let error = layout.image().unwrap_err().to_string();
    assert!(error.contains("manifests[0].digest") && error.contains("index.json"), "{error}");
}

#[test]
fn a_copy_holds_the_same_image_and_never_covers_other_files() {
    let dir = tempfile::tempdir().unwrap();
    let (layout, image) = layout(&dir.path().join("a"));
    let copy = dir.path().join("b");
    layout.copy_to(&copy).unwrap();
    layout.copy_to(&copy).unwrap();
    let copied = Layout::open(&copy).unwrap().image().unwrap();
    assert_eq!(copied.index, image.index);
    let other = dir.path().join("c");
    fs::create_dir(&other).unwrap();
    fs::write(other.join("letter"), "dear").unwrap();
    let error = layout.copy_to(&other).unwrap_err();
    assert!(matches!(error, LayoutError::Taken(_)), "{error}");
}
