//! A layout as one file, for `skopeo` (`oci-archive:FILE`), `kind load image-archive` and `ctr`.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use crate::layout::Layout;

/// The archive cannot be written.
#[derive(Debug, thiserror::Error)]
#[error("cannot write {}", file.display())]
pub struct ArchiveError {
    file: PathBuf,
    #[source]
    source: io::Error,
}

/// Writes the layout to `file`, whole or not at all.
///
/// # Errors
/// When the disk fails.
pub fn write_archive(layout: &Layout, file: &Path, epoch: u64) -> Result<(), ArchiveError> {
    let failed = |source| ArchiveError { file: file.to_owned(), source };
    let folder =
        file.parent().filter(|it| !it.as_os_str().is_empty()).unwrap_or_else(|| Path::new("."));
    let write = || -> io::Result<()> {
        fs::create_dir_all(folder)?;
        let scratch = tempfile::NamedTempFile::new_in(folder)?;
        let mut tar = tar::Builder::new(io::BufWriter::new(scratch));
        for path in paths(layout.dir())? {
            let name = path.strip_prefix(layout.dir()).map_err(io::Error::other)?;
            let content = fs::File::open(&path)?;
            let mut header = tar::Header::new_ustar();
            header.set_mode(0o644);
            header.set_size(content.metadata()?.len());
            header.set_mtime(epoch);
            tar.append_data(&mut header, name, content)?;
        }
        let scratch = tar.into_inner()?.into_inner().map_err(io::IntoInnerError::into_error)?;
        // Scratch files are their owner's alone; this one is a result.
        let mode = <fs::Permissions as std::os::unix::fs::PermissionsExt>::from_mode(0o644);
        fs::set_permissions(scratch.path(), mode)?;
        scratch.persist(file).map_err(|it| it.error)?;
        Ok(())
    };
    write().map_err(failed)
}

/// The files below `folder`, in order.
fn paths(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut paths = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            paths.extend(self::paths(&path)?);
        } else {
            paths.push(path);
        }
    }
    paths.sort();
    Ok(paths)
}
