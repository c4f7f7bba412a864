//! The program of an image, taken out of it: from a registry, or from what `--output oci-archive:FILE`
//! wrote.

use std::{
    fs,
    io::{self, Read},
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
};

use serde::de::DeserializeOwned;

use crate::{
    digest::Digest,
    layout::{Layout, LayoutError},
    oci::{Descriptor, ImageConfig, Index, Manifest, Platform, media_type},
    transport::{Fault, Repository},
};

/// The program of an image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unpacked {
    /// Of the image's index.
    pub index: Digest,
    /// Where the program was put.
    pub program: PathBuf,
}

/// The program cannot be had.
#[derive(Debug, thiserror::Error)]
pub enum UnpackError {
    /// The registry does not give it.
    #[error(transparent)]
    Fault(#[from] Fault),
    /// The archive does not hold it.
    #[error("the archive {}", file.display())]
    Archive {
        /// Which.
        file: PathBuf,
        /// Why.
        #[source]
        source: ArchiveFault,
    },
    /// There is nothing under the tag.
    #[error("the registry has no image {0}")]
    Missing(String),
    /// A document, or the image that it tells of, is not as it should be.
    #[error("{what} is of no use: {why}")]
    Malformed {
        /// Which.
        what: String,
        /// What is wrong with it.
        why: String,
    },
    /// The image is not for this machine.
    #[error("the image has nothing for {wanted}; it is for {there}")]
    Platform {
        /// This machine's.
        wanted: Platform,
        /// The image's.
        there: String,
    },
    /// The disk fails.
    #[error("cannot write to {}", .0.display())]
    Io(PathBuf, #[source] io::Error),
}

/// What is wrong with an archive.
#[derive(Debug, thiserror::Error)]
pub enum ArchiveFault {
    /// It cannot be read.
    #[error("cannot be read")]
    Read(#[from] io::Error),
    /// It holds no image, or not all of it.
    #[error(transparent)]
    Layout(#[from] LayoutError),
}

/// Takes the program for `platform` from the image under a tag, or a digest, of a repository to the
/// folder `to`. All content is checked against its digest on the way.
///
/// # Errors
/// When the registry does not have all of it.
pub async fn from_registry(
    repository: &Repository,
    at: &str,
    platform: &Platform,
    to: &Path,
) -> Result<Unpacked, UnpackError> {
    let named = repository.named(at);
    let stored = repository.manifest(at).await?;
    let stored = stored.ok_or_else(|| UnpackError::Missing(named.clone()))?;
    let index: Index = parse(&named, &stored.content)?;
    let entry = chosen(&index, platform)?;
    let manifest = repository.manifest(&entry.digest.to_string()).await?;
    let manifest = manifest.ok_or_else(|| UnpackError::Missing(entry.digest.to_string()))?;
    let manifest: Manifest = parse(&named, &manifest.content)?;
    let config: ImageConfig = parse(&named, &repository.blob(&manifest.config.digest).await?)?;
    let mut layers = Vec::new();
    for layer in &manifest.layers {
        layers.push((layer.clone(), repository.blob(&layer.digest).await?));
    }
    let program = write(&named, &config, &layers, to)?;
    Ok(Unpacked { index: stored.digest, program })
}

/// The same from the file that `build-image --output oci-archive:FILE` wrote.
///
/// # Errors
/// When the archive does not hold all of it.
pub fn from_archive(file: &Path, platform: &Platform, to: &Path) -> Result<Unpacked, UnpackError> {
    let failed = |source| UnpackError::Archive { file: file.to_owned(), source };
    let scratch = tempfile::tempdir_in(to).map_err(|it| UnpackError::Io(to.to_owned(), it))?;
    let archive = fs::File::open(file).map_err(|it| failed(it.into()))?;
    let unpacked = tar::Archive::new(archive).unpack(scratch.path());
    unpacked.map_err(|it| failed(it.into()))?;
    let read = || -> Result<_, LayoutError> {
        let layout = Layout::open(scratch.path())?;
        let image = layout.image()?;
        Ok((layout, image))
    };
    let (layout, image) = read().map_err(|it| failed(it.into()))?;
    let found = image.platforms.iter().find(|it| it.platform == *platform);
    let found = found.ok_or_else(|| {
        let there: Vec<String> = image.platforms.iter().map(|it| it.platform.to_string()).collect();
        UnpackError::Platform { wanted: platform.clone(), there: there.join(", ") }
    })?;
    let layers = found.manifest.layers.iter();
    let layers = layers.map(|it| Ok((it.clone(), layout.get(it)?)));
    let layers = layers.collect::<Result<Vec<_>, LayoutError>>().map_err(|it| failed(it.into()))?;
    let program = write(&file.display().to_string(), &found.config, &layers, to)?;
    Ok(Unpacked { index: image.index.digest, program })
}

/// The entry for that platform.
fn chosen<'a>(index: &'a Index, platform: &Platform) -> Result<&'a Descriptor, UnpackError> {
    let found = index.manifests.iter().find(|it| it.platform.as_ref() == Some(platform));
    found.ok_or_else(|| {
        let there = index.manifests.iter().flat_map(|it| &it.platform).map(ToString::to_string);
        let there = there.collect::<Vec<_>>().join(", ");
        UnpackError::Platform { wanted: platform.clone(), there }
    })
}

/// Writes what the image runs, from the last layer that has it, to the folder `to`.
fn write(
    named: &str,
    config: &ImageConfig,
    layers: &[(Descriptor, Vec<u8>)],
    to: &Path,
) -> Result<PathBuf, UnpackError> {
    let wrong = |why: String| UnpackError::Malformed { what: named.to_owned(), why };
    let entrypoint = config.config.entrypoint.first();
    let entrypoint = entrypoint.ok_or_else(|| wrong("it names no program".to_owned()))?;
    let inside = Path::new(entrypoint.trim_start_matches('/'));
    for (layer, content) in layers.iter().rev() {
        let found = find(layer, content, inside);
        let Some(program) = found.map_err(|it| wrong(it.to_string()))? else { continue };
        let path = to.join(inside.file_name().unwrap_or_default());
        let mode = fs::Permissions::from_mode(0o755);
        let written = fs::write(&path, program).and_then(|()| fs::set_permissions(&path, mode));
        written.map_err(|it| UnpackError::Io(path.clone(), it))?;
        return Ok(path);
    }
    Err(wrong(format!("no layer has its program `{entrypoint}`")))
}

/// The file of that path in a layer.
fn find(layer: &Descriptor, content: &[u8], path: &Path) -> io::Result<Option<Vec<u8>>> {
    let archive: Box<dyn Read + '_> = match layer.media_type.as_str() {
        media_type::LAYER_GZIP => Box::new(flate2::read::GzDecoder::new(content)),
        media_type::LAYER_ZSTD => Box::new(zstd::Decoder::new(content)?),
        other => return Err(io::Error::other(format!("a layer is `{other}`"))),
    };
    for entry in tar::Archive::new(archive).entries()? {
        let mut entry = entry?;
        let is_it = entry.path()?.as_ref() == path;
        if is_it && entry.header().entry_type().is_file() {
            let mut file = Vec::new();
            entry.read_to_end(&mut file)?;
            return Ok(Some(file));
        }
    }
    Ok(None)
}

fn parse<T: DeserializeOwned>(what: &str, content: &[u8]) -> Result<T, UnpackError> {
    let mut reader = serde_json::Deserializer::from_slice(content);
    serde_path_to_error::deserialize(&mut reader)
        .map_err(|it| UnpackError::Malformed { what: what.to_owned(), why: it.to_string() })
}
