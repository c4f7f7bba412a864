//! Layers onto a folder: what they add, replace and take away.
//!
//! A layer is somebody else's: its entries may name paths outside of the folder, go through links
//! that lead outside, or unpack to more than any disk holds. All paths are resolved within the
//! folder, as a process whose root it is would see them, and both bytes and entries are counted.
//! Owners are left out, since the one user who runs the container owns the files, and so are
//! devices.
//!
//! Source: the OCI image specification, `layer.md`.

use std::fs::{self, OpenOptions, Permissions};
use std::io::{self, BufReader, Read};
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _, symlink};
use std::path::{Component, Path, PathBuf};

use flate2::read::GzDecoder;
use tar::{Archive, Entry, EntryType};

/// What marks a path as taken away.
const WHITEOUT: &str = ".wh.";
/// What marks a folder as emptied of what lower layers have in it.
const OPAQUE: &str = ".wh..wh..opq";
/// How many links a path may go through, as in the kernel.
const LINKS_MAX: usize = 40;

/// How much may be unpacked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Limits {
    /// Bytes of all files together.
    pub(super) bytes: u64,
    /// Entries of all layers together.
    pub(super) entries: u64,
}

impl Default for Limits {
    /// 4 GiB in 200,000 entries: no image of a lab needs as much.
    fn default() -> Self {
        Self { bytes: 4 << 30, entries: 200_000 }
    }
}

/// Why a layer cannot be unpacked.
#[derive(Debug, thiserror::Error)]
pub(super) enum UnpackError {
    /// The kind of layer is not known.
    #[error("layers of type {0:?} cannot be unpacked")]
    MediaType(String),
    /// The archive is broken, or the disk refuses.
    #[error("{path}: {source}")]
    Io {
        /// What was being written.
        path: String,
        /// What the system said.
        source: io::Error,
    },
    /// An entry names a place outside of the image.
    #[error("entry {0:?} points outside of the image")]
    Outside(String),
    /// It is too much.
    #[error("the layers hold more than {what}")]
    TooMuch {
        /// The limit that was reached.
        what: String,
    },
}

/// Unpacks layers one upon the other.
#[derive(Debug)]
pub(super) struct Unpacker<'a> {
    root: &'a Path,
    left: Limits,
    limits: Limits,
}

impl<'a> Unpacker<'a> {
    /// Unpacks into the folder `root`, which must exist.
    pub(super) fn new(root: &'a Path, limits: Limits) -> Self {
        Self { root, left: limits, limits }
    }

    /// Adds a layer of this media type.
    ///
    /// # Errors
    /// [`UnpackError`]; the folder is then of no use.
    pub(super) fn layer(&mut self, media_type: &str, data: impl Read) -> Result<(), UnpackError> {
        let data = BufReader::new(data);
        match media_type.rsplit(['.', '+']).next() {
            Some("gzip") => self.archive(GzDecoder::new(data)),
            Some("zstd") => {
                let decoder = zstd::stream::read::Decoder::with_buffer(data);
                self.archive(decoder.map_err(|source| io_error(Path::new("layer"), source))?)
            }
            Some("tar") => self.archive(data),
            _ => Err(UnpackError::MediaType(media_type.to_owned())),
        }
    }

    fn archive(&mut self, data: impl Read) -> Result<(), UnpackError> {
        let broken = |source| io_error(Path::new("layer"), source);
        // Whiteouts speak of lower layers only: what this one wrote itself stays.
        let mut written = Vec::new();
        let mut archive = Archive::new(data);
        for entry in archive.entries().map_err(broken)? {
            let mut entry = entry.map_err(broken)?;
            self.count(entry.size())?;
            let name = entry.path().map_err(broken)?.into_owned();
            let Some(relative) = relative(&name)? else { continue };
            let file_name = relative.file_name().and_then(|it| it.to_str()).unwrap_or_default();
            let parent = self.folder(relative.parent().unwrap_or_else(|| Path::new("")))?;
            if file_name == OPAQUE {
                clear(&parent, &written)?;
            } else if let Some(hidden) = file_name.strip_prefix(WHITEOUT) {
                if matches!(hidden, "" | "." | "..") {
                    return Err(UnpackError::Outside(name.display().to_string()));
                }
                remove(&parent.join(hidden))?;
            } else {
                let place = parent.join(file_name);
                self.entry(&mut entry, &place)?;
                written.push(place);
            }
        }
        Ok(())
    }

    fn count(&mut self, bytes: u64) -> Result<(), UnpackError> {
        let too_much = |what: String| UnpackError::TooMuch { what };
        let entries = self.left.entries.checked_sub(1);
        self.left.entries =
            entries.ok_or_else(|| too_much(format!("{} entries", self.limits.entries)))?;
        let bytes = self.left.bytes.checked_sub(bytes);
        self.left.bytes = bytes.ok_or_else(|| too_much(format!("{} bytes", self.limits.bytes)))?;
        Ok(())
    }

    fn entry(&self, entry: &mut Entry<'_, impl Read>, place: &Path) -> Result<(), UnpackError> {
        let failed = |source| io_error(place, source);
        let mode = entry.header().mode().unwrap_or(0o644) & 0o777;
        match entry.header().entry_type() {
            EntryType::Directory => {
                let is_folder = place.symlink_metadata().is_ok_and(|it| it.is_dir());
                if !is_folder {
                    remove(place)?;
                    fs::create_dir(place).map_err(failed)?;
                }
                // Whoever unpacks must be able to go on in it, and to remove it.
                let mode = Permissions::from_mode(mode | 0o700);
                fs::set_permissions(place, mode).map_err(failed)
            }
            EntryType::Regular | EntryType::Continuous | EntryType::GNUSparse => {
                remove(place)?;
                let mut open = OpenOptions::new();
                let open = open.write(true).create_new(true).mode(mode | 0o600);
                let mut file = open.open(place).map_err(failed)?;
                io::copy(entry, &mut file).map_err(failed)?;
                // Once more, since the process's own mask may have taken bits away.
                file.set_permissions(Permissions::from_mode(mode | 0o600)).map_err(failed)
            }
            EntryType::Symlink => {
                let target = entry.link_name().map_err(failed)?.unwrap_or_default().into_owned();
                remove(place)?;
                symlink(target, place).map_err(failed)
            }
            EntryType::Link => {
                let target = entry.link_name().map_err(failed)?.unwrap_or_default().into_owned();
                let outside = || UnpackError::Outside(target.display().to_string());
                let inside = relative(&target)?.ok_or_else(outside)?;
                let folder = resolve(self.root, inside.parent().unwrap_or_else(|| Path::new("")))?;
                let target = folder.join(inside.file_name().ok_or_else(outside)?);
                remove(place)?;
                fs::hard_link(target, place).map_err(failed)
            }
            // Devices and pipes: a container gets its devices from its node.
            _ => Ok(()),
        }
    }

    /// The real folder that a path within the image means, made where it is missing.
    fn folder(&self, path: &Path) -> Result<PathBuf, UnpackError> {
        let real = resolve(self.root, path)?;
        fs::create_dir_all(&real).map_err(|source| io_error(&real, source))?;
        Ok(real)
    }
}

/// An entry's path from the image's root; `None` is the root itself.
fn relative(path: &Path) -> Result<Option<PathBuf>, UnpackError> {
    let mut clean = PathBuf::new();
    for component in path.components() {
        match component {
            Component::Normal(part) => clean.push(part),
            Component::CurDir | Component::RootDir => {}
            Component::ParentDir | Component::Prefix(_) => {
                return Err(UnpackError::Outside(path.display().to_string()));
            }
        }
    }
    Ok(Some(clean).filter(|it| !it.as_os_str().is_empty()))
}

/// Where `path` is for a process whose root is `root`: links are followed, and none leads outside.
/// Parts that do not exist are taken as they are.
///
/// # Errors
/// [`UnpackError::Outside`] for a path that goes through too many links.
pub(super) fn resolve(root: &Path, path: &Path) -> Result<PathBuf, UnpackError> {
    let mut links = 0;
    let mut real = root.to_owned();
    let mut todo: Vec<PathBuf> = vec![path.to_owned()];
    while let Some(next) = todo.pop() {
        let mut components = next.components();
        let Some(component) = components.next() else { continue };
        let rest = components.as_path().to_owned();
        if !rest.as_os_str().is_empty() {
            todo.push(rest);
        }
        match component {
            Component::RootDir => root.clone_into(&mut real),
            Component::CurDir | Component::Prefix(_) => {}
            Component::ParentDir => {
                // Above the root is the root.
                if real != root {
                    real.pop();
                }
            }
            Component::Normal(part) => {
                let place = real.join(part);
                match fs::read_link(&place) {
                    Ok(target) => {
                        links += 1;
                        if links > LINKS_MAX {
                            return Err(UnpackError::Outside(path.display().to_string()));
                        }
                        todo.push(target);
                    }
                    Err(_) => real = place,
                }
            }
        }
    }
    Ok(real)
}

/// Removes whatever is at a place.
fn remove(place: &Path) -> Result<(), UnpackError> {
    let Ok(found) = place.symlink_metadata() else { return Ok(()) };
    let removed = if found.is_dir() { fs::remove_dir_all(place) } else { fs::remove_file(place) };
    removed.map_err(|source| io_error(place, source))
}

/// Removes what is in a folder but for what this layer wrote.
fn clear(folder: &Path, written: &[PathBuf]) -> Result<(), UnpackError> {
    let failed = |source| io_error(folder, source);
    for entry in fs::read_dir(folder).map_err(failed)? {
        let place = entry.map_err(failed)?.path();
        if !written.iter().any(|it| it.starts_with(&place)) {
            remove(&place)?;
        }
    }
    Ok(())
}

fn io_error(path: &Path, source: io::Error) -> UnpackError {
    UnpackError::Io { path: path.display().to_string(), source }
}

/// Copies a folder with everything in it; what is no file, folder or link is left out.
///
/// # Errors
/// What the system said.
pub(super) fn copy_tree(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let (source, target) = (entry.path(), to.join(entry.file_name()));
        let kind = entry.file_type()?;
        if kind.is_symlink() {
            symlink(fs::read_link(&source)?, &target)?;
        } else if kind.is_dir() {
            copy_tree(&source, &target)?;
        } else if kind.is_file() {
            fs::copy(&source, &target)?;
        }
    }
    fs::set_permissions(to, fs::metadata(from)?.permissions())
}

#[cfg(test)]
mod tests;
