//! Images for tests, small ones.

use std::collections::BTreeMap;

use tempfile::TempDir;

use crate::{
    digest::Digest,
    layout::{Image, Layout},
    oci::{Descriptor, ImageConfig, Index, Manifest, RootFs, RunConfig, annotation, media_type},
};

/// An image in a folder that goes away with it.
pub(crate) struct Built {
    pub(crate) layout: Layout,
    pub(crate) image: Image,
    _folder: TempDir,
}

/// An image for two platforms with a bill of materials; `content` tells it from others.
pub(crate) fn built(content: &str) -> Built {
    let folder = tempfile::tempdir().unwrap();
    let layout = Layout::create(folder.path()).unwrap();
    let platforms = ["amd64", "arm64"].map(|it| platform(&layout, it, content));
    let index = Index::new(platforms.into(), BTreeMap::new());
    let mut index = layout.put_json(media_type::INDEX, &index).unwrap();
    let about = bill(&layout, index.clone(), content);
    index.annotations.insert(annotation::REF_NAME.to_owned(), "v1".to_owned());
    layout.write_index(&Index::new(vec![index, about], BTreeMap::new())).unwrap();
    let image = layout.image().unwrap();
    Built { layout, image, _folder: folder }
}

fn platform(layout: &Layout, architecture: &str, content: &str) -> Descriptor {
    let platform: crate::oci::Platform = format!("linux/{architecture}").parse().unwrap();
    let layer = format!("{content} for {architecture} ").repeat(20_000);
    let layer = layout.put(media_type::LAYER_GZIP, layer.as_bytes()).unwrap();
    let config = ImageConfig {
        created: None,
        platform: platform.clone(),
        config: RunConfig::default(),
        rootfs: RootFs { kind: "layers".to_owned(), diff_ids: vec![Digest::of(b"layer")] },
        history: Vec::new(),
    };
    let config = layout.put_json(media_type::CONFIG, &config).unwrap();
    let manifest = Manifest::image(config, vec![layer], BTreeMap::new());
    let manifest = layout.put_json(media_type::MANIFEST, &manifest).unwrap();
    Descriptor { platform: Some(platform), ..manifest }
}

fn bill(layout: &Layout, subject: Descriptor, content: &str) -> Descriptor {
    let config = layout.put(media_type::EMPTY, b"{}").unwrap();
    let bill = layout.put("application/spdx+json", format!("[\"{content}\"]").as_bytes()).unwrap();
    let manifest = Manifest {
        artifact_type: Some("application/spdx+json".to_owned()),
        subject: Some(subject),
        ..Manifest::image(config, vec![bill], BTreeMap::new())
    };
    layout.put_json(media_type::MANIFEST, &manifest).unwrap()
}
