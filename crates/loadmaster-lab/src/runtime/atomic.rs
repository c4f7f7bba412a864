//! Files that change all at once, as the kubelet writes config maps: `..data` points at a folder
//! with a time in its name, each file is a link through `..data`, and an update makes another folder
//! and turns `..data` around. Readers see the old files or the new ones, and watchers of the folder
//! see `..data` being replaced.
//!
//! Source: `pkg/volume/util/atomic_writer.go` 1.36, by its behaviour.

use std::collections::BTreeMap;
use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};

use jiff::Timestamp;

/// A file of a volume.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Payload {
    pub(super) bytes: Vec<u8>,
    /// Permission bits.
    pub(super) mode: u32,
}

/// The files of a volume by their paths in it.
pub(super) type Payloads = BTreeMap<PathBuf, Payload>;

const DATA: &str = "..data";

/// Brings the folder to hold exactly these files; says whether anything changed.
///
/// # Errors
/// What the system said.
pub(super) fn write(folder: &Path, files: &Payloads, now: Timestamp) -> io::Result<bool> {
    fs::create_dir_all(folder)?;
    let data = folder.join(DATA);
    let old = fs::read_link(&data).ok();
    if old.is_some() && is_same(&data, files)? {
        return Ok(false);
    }
    // Two updates within a nanosecond do not happen, and would fail rather than mix.
    let name = now.strftime("..%Y_%m_%d_%H_%M_%S.%9f").to_string();
    let fresh = folder.join(&name);
    fs::create_dir(&fresh)?;
    for (path, Payload { bytes, mode }) in files {
        let file = fresh.join(path);
        if let Some(parent) = file.parent() {
            fs::create_dir_all(parent)?;
        }
        fs::write(&file, bytes)?;
        fs::set_permissions(&file, Permissions::from_mode(*mode))?;
    }
    let turned = folder.join("..data_tmp");
    let _ = fs::remove_file(&turned);
    symlink(&name, &turned)?;
    fs::rename(&turned, &data)?;
    let tops = files.keys().filter_map(|it| it.components().next());
    let tops: Vec<PathBuf> = tops.map(|it| PathBuf::from(it.as_os_str())).collect();
    for top in &tops {
        let link = folder.join(top);
        if link.symlink_metadata().is_err() {
            symlink(Path::new(DATA).join(top), &link)?;
        }
    }
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = PathBuf::from(entry.file_name());
        let is_ours = name.to_string_lossy().starts_with("..");
        if !is_ours && !tops.contains(&name) {
            fs::remove_file(entry.path())?;
        }
    }
    if let Some(old) = old {
        fs::remove_dir_all(folder.join(old))?;
    }
    Ok(true)
}

fn is_same(data: &Path, files: &Payloads) -> io::Result<bool> {
    let mut found = 0;
    let mut folders = vec![data.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder)? {
            let entry = entry?;
            if entry.file_type()?.is_dir() {
                folders.push(entry.path());
                continue;
            }
            let path = entry.path();
            let Ok(relative) = path.strip_prefix(data) else { return Ok(false) };
            let Some(file) = files.get(relative) else { return Ok(false) };
            if fs::read(&path)? != file.bytes {
                return Ok(false);
            }
            found += 1;
        }
    }
    Ok(found == files.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files(items: &[(&str, &str)]) -> Payloads {
        let payload = |text: &str| Payload { bytes: text.into(), mode: 0o644 };
        items.iter().map(|(path, text)| (PathBuf::from(path), payload(text))).collect()
    }

    #[test]
    fn an_update_turns_the_data_link_and_leaves_no_old_file() {
        let folder = tempfile::tempdir().unwrap();
        let read = |path: &str| fs::read_to_string(folder.path().join(path)).ok();
        let write = |items| write(folder.path(), &files(items), Timestamp::now()).unwrap();
        assert!(write(&[("a", "1"), ("d/b", "2")]));
        assert_eq!(read("a").as_deref(), Some("1"));
        assert_eq!(read("d/b").as_deref(), Some("2"));
        assert_eq!(fs::read_link(folder.path().join("a")).unwrap(), Path::new("..data/a"));
        let before = fs::read_link(folder.path().join(DATA)).unwrap();
        assert!(!write(&[("a", "1"), ("d/b", "2")]));
        assert_eq!(fs::read_link(folder.path().join(DATA)).unwrap(), before);
        assert!(write(&[("a", "new"), ("c", "3")]));
        assert_eq!(read("a").as_deref(), Some("new"));
        assert_eq!(read("c").as_deref(), Some("3"));
        assert_eq!(read("d/b"), None);
        let mut left: Vec<String> = fs::read_dir(folder.path())
            .unwrap()
            .map(|it| it.unwrap().file_name().into_string().unwrap())
            .collect();
        left.sort();
        let now = fs::read_link(folder.path().join(DATA)).unwrap();
        assert_eq!(left, [now.to_str().unwrap(), DATA, "a", "c"]);
    }

    #[test]
    fn a_shorter_set_of_files_is_another_one() {
        let folder = tempfile::tempdir().unwrap();
        let write = |items| write(folder.path(), &files(items), Timestamp::now()).unwrap();
        assert!(write(&[("a", "1"), ("b", "2")]));
        assert!(write(&[("a", "1")]));
        assert!(write(&[]));
        assert!(!write(&[]));
    }
}
