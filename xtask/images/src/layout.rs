//! An OCI image layout on disk: `oci-layout`, `index.json`, and content by its digest below `blobs/`.
//!
//! A layout of this project holds one image. Its `index.json` lists the image's own index, with the tag
//! as the annotation `org.opencontainers.image.ref.name`, and after it what refers to the image's
//! parts: manifests with a `subject`.

use std::{
    fs,
    io::{self, Write as _},
    path::{Path, PathBuf},
};

use serde::{Serialize, de::DeserializeOwned};

use crate::{
    digest::Digest,
    oci::{Descriptor, ImageConfig, Index, Manifest, Platform, annotation, media_type},
};

#[cfg(test)]
mod tests;

const MARKER: &str = "oci-layout";
const VERSION: &str = r#"{"imageLayoutVersion":"1.0.0"}"#;
const INDEX: &str = "index.json";
const BLOBS: &str = "blobs/sha256";

/// What a manifest may have at most, as registries have it.
const MANIFEST_LIMIT: u64 = 4 * 1024 * 1024;

/// A folder that holds an image.
#[derive(Clone, Debug)]
pub struct Layout {
    dir: PathBuf,
}

/// A whole image: everything that [`Layout::image`] found and checked.
#[derive(Clone, Debug)]
pub struct Image {
    /// The tag that it was built under.
    pub tag: String,
    /// The image's index, without the annotation that carries the tag.
    pub index: Descriptor,
    /// One for each platform, in the index's order.
    pub platforms: Vec<PlatformImage>,
    /// What refers to these, in the layout's order.
    pub referrers: Vec<Referrer>,
}

/// The image for one platform.
#[derive(Clone, Debug)]
pub struct PlatformImage {
    /// Which.
    pub platform: Platform,
    /// Points at `manifest`.
    pub descriptor: Descriptor,
    /// Names the configuration and the layers.
    pub manifest: Manifest,
    /// What a container runs.
    pub config: ImageConfig,
}

/// An artifact about an image.
#[derive(Clone, Debug)]
pub struct Referrer {
    /// Points at `manifest`.
    pub descriptor: Descriptor,
    /// Names its `subject` and its content, in `config` and `layers`.
    pub manifest: Manifest,
}

/// The layout cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum LayoutError {
    /// There is none.
    #[error("{} holds no image; build one with `cargo xtask build-image`", .0.display())]
    Missing(PathBuf),
    /// Something else is where it would go.
    #[error("{} is not empty and no image; choose another folder", .0.display())]
    Taken(PathBuf),
    /// It names content that is not there.
    #[error("{}: the content {digest} is missing; build the image again", dir.display())]
    NoBlob {
        /// The layout.
        dir: PathBuf,
        /// What is missing.
        digest: Digest,
    },
    /// Content is not what its name says.
    #[error("{}: this is not the content that its name says; build the image again", .0.display())]
    Tampered(PathBuf),
    /// A document says something else than the specification has.
    #[error("{}: {why}; build the image again", file.display())]
    Malformed {
        /// The document.
        file: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// The disk fails.
    #[error("cannot {doing} {}", file.display())]
    Io {
        /// `read` or `write`.
        doing: &'static str,
        /// What.
        file: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
}

type Result<T> = std::result::Result<T, LayoutError>;

impl Layout {
    /// An empty layout in the folder `dir`, which is made.
    ///
    /// # Errors
    /// When the folder cannot be written to.
    pub fn create(dir: &Path) -> Result<Self> {
        let layout = Self { dir: dir.to_owned() };
        let blobs = dir.join(BLOBS);
        fs::create_dir_all(&blobs).map_err(|it| failed("write", &blobs, it))?;
        write(&dir.join(MARKER), VERSION.as_bytes())?;
        layout.write_index(&Index::new(Vec::new(), std::collections::BTreeMap::new()))?;
        Ok(layout)
    }

    /// The layout in the folder `dir`.
    ///
    /// # Errors
    /// When there is none.
    pub fn open(dir: &Path) -> Result<Self> {
        let is_there = dir.join(MARKER).is_file() && dir.join(INDEX).is_file();
        is_there
            .then(|| Self { dir: dir.to_owned() })
            .ok_or_else(|| LayoutError::Missing(dir.into()))
    }

    /// The folder.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Where the content of that digest is, or would be.
    pub fn path(&self, digest: &Digest) -> PathBuf {
        self.dir.join(BLOBS).join(digest.hex())
    }

    /// Adds content.
    ///
    /// # Errors
    /// When the disk fails.
    pub fn put(&self, media_type: &str, content: &[u8]) -> Result<Descriptor> {
        let digest = Digest::of(content);
        let path = self.path(&digest);
        if !path.exists() {
            write(&path, content)?;
        }
        Ok(Descriptor {
            media_type: media_type.to_owned(),
            digest,
            size: content.len() as u64,
            platform: None,
            artifact_type: None,
            annotations: std::collections::BTreeMap::new(),
        })
    }

    /// Adds a document.
    ///
    /// # Errors
    /// When the disk fails.
    pub fn put_json(&self, media_type: &str, document: &impl Serialize) -> Result<Descriptor> {
        self.put(media_type, &json(document, &self.dir)?)
    }

    /// The content that `descriptor` points at, checked against its digest.
    ///
    /// # Errors
    /// When it is missing or something else.
    pub fn get(&self, descriptor: &Descriptor) -> Result<Vec<u8>> {
        self.check_size(descriptor)?;
        let path = self.path(&descriptor.digest);
        let content = fs::read(&path).map_err(|it| failed("read", &path, it))?;
        if Digest::of(&content) == descriptor.digest {
            Ok(content)
        } else {
            Err(LayoutError::Tampered(path))
        }
    }

    /// The document that `descriptor` points at.
    ///
    /// # Errors
    /// When it is missing, something else, or not understood.
    pub fn get_json<T: DeserializeOwned>(&self, descriptor: &Descriptor) -> Result<T> {
        let file = self.path(&descriptor.digest);
        if descriptor.size > MANIFEST_LIMIT {
            return Err(LayoutError::Malformed { file, why: "a document is far too large".into() });
        }
        let content = self.get(descriptor)?;
        parse(&content, &file)
    }

    /// Reads through the content that `descriptor` points at and checks its size and digest.
    ///
    /// # Errors
    /// When it is missing or something else.
    pub fn check(&self, descriptor: &Descriptor) -> Result<()> {
        self.check_size(descriptor)?;
        let path = self.path(&descriptor.digest);
        let digest = fs::File::open(&path).and_then(|mut it| Digest::of_reader(&mut it));
        let (digest, _) = digest.map_err(|it| failed("read", &path, it))?;
        if digest == descriptor.digest { Ok(()) } else { Err(LayoutError::Tampered(path)) }
    }

    /// What the layout lists.
    ///
    /// # Errors
    /// When `index.json` is missing or not understood.
    pub fn index(&self) -> Result<Index> {
        let file = self.dir.join(INDEX);
        let content = fs::read(&file).map_err(|it| failed("read", &file, it))?;
        parse(&content, &file)
    }

    /// Makes the layout list `index`.
    ///
    /// # Errors
    /// When the disk fails.
    pub fn write_index(&self, index: &Index) -> Result<()> {
        write(&self.dir.join(INDEX), &json(index, &self.dir)?)
    }

    /// Writes the whole layout to the folder `dir`, which must be empty or hold a layout already.
    ///
    /// # Errors
    /// When there is something else in the folder, or the disk fails.
    pub fn copy_to(&self, dir: &Path) -> Result<()> {
        let is_taken = fs::read_dir(dir).is_ok_and(|mut it| it.next().is_some());
        if is_taken && Self::open(dir).is_err() {
            return Err(LayoutError::Taken(dir.to_owned()));
        }
        let copy = Self::create(dir)?;
        let from = self.dir.join(BLOBS);
        let blobs = fs::read_dir(&from).map_err(|it| failed("read", &from, it))?;
        for blob in blobs {
            let blob = blob.map_err(|it| failed("read", &from, it))?;
            let content = fs::read(blob.path()).map_err(|it| failed("read", &blob.path(), it))?;
            write(&copy.dir.join(BLOBS).join(blob.file_name()), &content)?;
        }
        copy.write_index(&self.index()?)
    }

    /// The image, with everything that it consists of checked to be there and to be what its name says.
    ///
    /// # Errors
    /// When something is missing, something else, or not understood.
    pub fn image(&self) -> Result<Image> {
        let file = self.dir.join(INDEX);
        let malformed = |why: &str| LayoutError::Malformed { file: file.clone(), why: why.into() };
        let mut listed = self.index()?.manifests.into_iter();
        let mut index = listed.next().ok_or_else(|| malformed("it lists no image"))?;
        // These are the layout's own, and no part of the image.
        let tag = std::mem::take(&mut index.annotations).remove(annotation::REF_NAME);
        let tag = tag.ok_or_else(|| malformed("its first entry has no tag"))?;
        if index.media_type != media_type::INDEX {
            return Err(malformed("its first entry is no index"));
        }
        let parts: Index = self.get_json(&index)?;
        let platforms = parts.manifests.into_iter().map(|it| self.platform_image(it));
        let platforms = platforms.collect::<Result<Vec<_>>>()?;
        let referrers = listed.map(|descriptor| {
            let manifest = self.manifest(&descriptor)?;
            Ok(Referrer { descriptor, manifest })
        });
        Ok(Image { tag, index, platforms, referrers: referrers.collect::<Result<_>>()? })
    }

    fn platform_image(&self, descriptor: Descriptor) -> Result<PlatformImage> {
        let manifest = self.manifest(&descriptor)?;
        let config = self.get_json(&manifest.config)?;
        let platform = descriptor.platform.clone().ok_or_else(|| LayoutError::Malformed {
            file: self.dir.join(INDEX),
            why: format!("the image {} is for no platform", descriptor.digest),
        })?;
        Ok(PlatformImage { platform, descriptor, manifest, config })
    }

    /// The manifest, with what it names checked.
    fn manifest(&self, descriptor: &Descriptor) -> Result<Manifest> {
        let manifest: Manifest = self.get_json(descriptor)?;
        self.check(&manifest.config)?;
        manifest.layers.iter().try_for_each(|it| self.check(it))?;
        Ok(manifest)
    }

    fn check_size(&self, descriptor: &Descriptor) -> Result<()> {
        let path = self.path(&descriptor.digest);
        match fs::metadata(&path) {
            Ok(found) if found.len() == descriptor.size => Ok(()),
            Ok(_) => Err(LayoutError::Tampered(path)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Err(LayoutError::NoBlob {
                dir: self.dir.clone(),
                digest: descriptor.digest.clone(),
            }),
            Err(error) => Err(failed("read", &path, error)),
        }
    }
}

/// Writes a file so that it is there whole or not at all.
fn write(path: &Path, content: &[u8]) -> Result<()> {
    let folder = path.parent().unwrap_or(path);
    let written = tempfile::NamedTempFile::new_in(folder).and_then(|mut file| {
        file.write_all(content)?;
        file.persist(path).map_err(|it| it.error)
    });
    written.map(drop).map_err(|it| failed("write", path, it))
}

fn failed(doing: &'static str, file: &Path, source: io::Error) -> LayoutError {
    LayoutError::Io { doing, file: file.to_owned(), source }
}

fn json(document: &impl Serialize, dir: &Path) -> Result<Vec<u8>> {
    let malformed = |it: serde_json::Error| LayoutError::Malformed {
        file: dir.to_owned(),
        why: format!("a document cannot be written: {it}"),
    };
    serde_json::to_vec(document).map_err(malformed)
}

fn parse<T: DeserializeOwned>(content: &[u8], file: &Path) -> Result<T> {
    let mut reader = serde_json::Deserializer::from_slice(content);
    serde_path_to_error::deserialize(&mut reader)
        .map_err(|it| LayoutError::Malformed { file: file.to_owned(), why: it.to_string() })
}
