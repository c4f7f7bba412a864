//! The images that a node has, and how it gets them.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::Mutex;

use super::manifest::{Descriptor, ImageConfig, RunConfig};
use super::reference::{Reference, is_digest};
use super::source::{PullError, Source};
use super::unpack::{Limits, Unpacker};

/// An image that is there, unpacked.
#[derive(Debug)]
pub(super) struct Image {
    /// `registry/repository@sha256:…`: what the name meant when it was pulled.
    pub(super) id: String,
    /// How it wants to be run.
    pub(super) config: RunConfig,
    /// Its files.
    pub(super) root: PathBuf,
    /// The bytes of its blobs.
    pub(super) size: u64,
}

/// A pull that succeeded.
#[derive(Debug)]
pub(super) struct Pulled {
    pub(super) image: Arc<Image>,
    /// How long it took by itself.
    pub(super) took: Duration,
    /// How long it took with the wait for others.
    pub(super) waited: Duration,
}

/// The images of all nodes of the lab: the nodes share a disk.
#[derive(Debug)]
pub(super) struct Images {
    folder: PathBuf,
    registries: BTreeMap<String, String>,
    layouts: Vec<(Reference, PathBuf)>,
    limits: Limits,
    // One pull at a time, as kubelets do by default.
    present: Mutex<BTreeMap<Reference, Arc<Image>>>,
}

impl Images {
    /// Keeps images in `folder`, and takes those of a registry in `registries` from that URL, those
    /// that `layouts` covers from that folder.
    pub(super) fn new(
        folder: PathBuf,
        registries: BTreeMap<String, String>,
        layouts: Vec<(Reference, PathBuf)>,
    ) -> Self {
        let (limits, present) = (Limits::default(), Mutex::default());
        Self { folder, registries, layouts, limits, present }
    }

    /// Whether the image was mapped to a place.
    pub(super) fn is_mapped(&self, reference: &Reference) -> bool {
        self.registries.contains_key(&reference.registry)
            || self.layouts.iter().any(|(name, _)| name.covers(reference))
    }

    /// The image, if it was pulled before.
    pub(super) async fn present(&self, reference: &Reference) -> Option<Arc<Image>> {
        self.present.lock().await.get(reference).cloned()
    }

    /// Gets the image from where it is.
    pub(super) async fn pull(&self, reference: &Reference) -> Result<Pulled, PullError> {
        let asked = Instant::now();
        let mut present = self.present.lock().await;
        let begun = Instant::now();
        let image = Arc::new(self.get(reference).await?);
        present.insert(reference.clone(), Arc::clone(&image));
        Ok(Pulled { image, took: begun.elapsed(), waited: asked.elapsed() })
    }

    fn source(&self, reference: &Reference) -> Source {
        if let Some((_, folder)) = self.layouts.iter().find(|(name, _)| name.covers(reference)) {
            return Source::Layout(folder.clone());
        }
        let host = match reference.registry.as_str() {
            // The name that Docker's registry really has.
            "docker.io" => "registry-1.docker.io",
            registry => registry,
        };
        let mapped = self.registries.get(&reference.registry).cloned();
        Source::Registry(mapped.unwrap_or_else(|| format!("https://{host}")))
    }

    async fn get(&self, reference: &Reference) -> Result<Image, PullError> {
        let source = self.source(reference);
        let root = source.root(reference).await?;
        let id = format!("{}@{}", reference.name(), root.digest);
        let document = if root.manifest.is_index() {
            let this = root.manifest.for_this_machine().map_err(PullError::Document)?;
            source.manifest(reference, &this.digest).await?
        } else {
            root
        };
        let no_image = || PullError::Document(format!("{} is no image", document.digest));
        let config = document.manifest.config.as_ref().ok_or_else(no_image)?;
        let layers = &document.manifest.layers;
        let size = config.size + layers.iter().map(|it| it.size).sum::<u64>();
        let file = self.blob(&source, reference, config).await?;
        let bytes = fs::read(&file).map_err(PullError::io(&file))?;
        let run: ImageConfig = serde_json::from_slice(&bytes)
            .map_err(|error| PullError::Document(format!("{}: {error}", config.digest)))?;
        let files = self.folder.join("unpacked").join(hex(&document.digest)?);
        if !files.exists() {
            let mut blobs = Vec::new();
            for layer in layers {
                let file = self.blob(&source, reference, layer).await?;
                blobs.push((layer.media_type.clone(), file));
            }
            let (files, limits) = (files.clone(), self.limits);
            let unpacked = tokio::task::spawn_blocking(move || unpack(&blobs, &files, limits));
            unpacked.await.map_err(|error| PullError::Document(error.to_string()))??;
        }
        Ok(Image { id, config: run.config, root: files, size })
    }

    /// The file of a blob, fetched unless it is there.
    async fn blob(
        &self,
        source: &Source,
        reference: &Reference,
        blob: &Descriptor,
    ) -> Result<PathBuf, PullError> {
        let folder = self.folder.join("blobs");
        let file = folder.join(hex(&blob.digest)?);
        if file.exists() {
            return Ok(file);
        }
        if blob.size > self.limits.bytes {
            let what = format!("blob {}", blob.digest);
            return Err(PullError::TooLarge { what, limit: self.limits.bytes });
        }
        fs::create_dir_all(&folder).map_err(PullError::io(&folder))?;
        // Under its name it is whole, and the right one.
        let part = file.with_extension("part");
        if let Err(error) = source.blob(reference, blob, &part).await {
            let _ = fs::remove_file(&part);
            return Err(error);
        }
        fs::rename(&part, &file).map_err(PullError::io(&file))?;
        Ok(file)
    }
}

fn hex(digest: &str) -> Result<&str, PullError> {
    if !is_digest(digest) {
        return Err(PullError::Document(format!("{digest:?} is no sha256 digest")));
    }
    Ok(digest.trim_start_matches("sha256:"))
}

/// Unpacks layers; the folder appears when all of them are there.
fn unpack(layers: &[(String, PathBuf)], files: &Path, limits: Limits) -> Result<(), PullError> {
    let part = files.with_extension("part");
    if part.exists() {
        fs::remove_dir_all(&part).map_err(PullError::io(&part))?;
    }
    fs::create_dir_all(&part).map_err(PullError::io(&part))?;
    let mut unpacker = Unpacker::new(&part, limits);
    for (media_type, blob) in layers {
        let data = fs::File::open(blob).map_err(PullError::io(blob))?;
        if let Err(error) = unpacker.layer(media_type, data) {
            let _ = fs::remove_dir_all(&part);
            return Err(error.into());
        }
    }
    fs::rename(&part, files).map_err(PullError::io(files))
}
