//! Finding and reading the files of cases.

use std::{
    ffi::OsStr,
    fs, io,
    path::{Path, PathBuf},
};

use serde::Deserialize;

/// Why the cases could not be run at all.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum GoldenError {
    /// A file or folder could not be read.
    #[error("cannot read {}", path.display())]
    Read {
        /// Which.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// A line is not a case.
    #[error("{}:{line}: not a case", file.display())]
    Decode {
        /// The file.
        file: PathBuf,
        /// The line, from 1.
        line: usize,
        /// What is wrong with it.
        source: serde_json::Error,
    },
    /// The folder has no files of cases.
    #[error("no *.jsonl or *.jsonl.zst with cases in {}", dir.display())]
    NoFiles {
        /// The folder.
        dir: PathBuf,
    },
    /// No family has this name.
    #[error("no family is named {name:?}; there are {}", known.join(", "))]
    NoFamily {
        /// The name asked for.
        name: String,
        /// The names there are.
        known: Vec<String>,
    },
    /// No case has this id.
    #[error("no case has the id {id:?}")]
    NoCase {
        /// The id asked for.
        id: String,
    },
}

/// A family's name: its file's, without endings.
pub(super) fn family(file: &Path) -> &str {
    let name = file.file_name().and_then(OsStr::to_str).unwrap_or_default();
    name.strip_suffix(".zst").unwrap_or(name).strip_suffix(".jsonl").unwrap_or_default()
}

/// The files of cases in `dir`, by name; only those of which `only` is (part of) the family's name.
pub(super) fn files(dir: &Path, only: Option<&str>) -> Result<Vec<PathBuf>, GoldenError> {
    let unreadable = |source| GoldenError::Read { path: dir.to_owned(), source };
    let mut files = Vec::new();
    for entry in fs::read_dir(dir).map_err(unreadable)? {
        let path = entry.map_err(unreadable)?.path();
        if !family(&path).is_empty() {
            files.push(path);
        }
    }
    files.sort_unstable();
    if files.is_empty() {
        return Err(GoldenError::NoFiles { dir: dir.to_owned() });
    }
    let Some(name) = only else { return Ok(files) };
    let exact = files.iter().any(|it| family(it) == name);
    let wanted = |file: &PathBuf| {
        if exact { family(file) == name } else { family(file).contains(name) }
    };
    let chosen: Vec<_> = files.iter().filter(|it| wanted(it)).cloned().collect();
    if chosen.is_empty() {
        let known = files.iter().map(|it| family(it).to_owned()).collect();
        return Err(GoldenError::NoFamily { name: name.to_owned(), known });
    }
    Ok(chosen)
}

/// The text of a file of cases, unpacked.
pub(super) fn text(file: &Path) -> Result<String, GoldenError> {
    let read = || -> io::Result<String> {
        let bytes = fs::read(file)?;
        let packed = file.extension() == Some(OsStr::new("zst"));
        let bytes = if packed { zstd::decode_all(&*bytes)? } else { bytes };
        String::from_utf8(bytes).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
    };
    read().map_err(|source| GoldenError::Read { path: file.to_owned(), source })
}

/// The id of the case in a line.
pub(super) fn id(line: &str) -> Result<String, serde_json::Error> {
    #[derive(Deserialize)]
    struct Named {
        id: String,
    }
    serde_json::from_str::<Named>(line).map(|it| it.id)
}
