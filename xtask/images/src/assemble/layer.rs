//! A layer: a tar archive of files that nobody may write to, compressed.

use std::{
    collections::{BTreeMap, BTreeSet},
    io::{self, Write as _},
    path::Path,
};

use flate2::{Compression as Level, GzBuilder};

use crate::{digest::Digest, oci::media_type};

/// How layers are compressed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Compression {
    /// What everything reads.
    #[default]
    Gzip,
    /// A fifth smaller; needs containerd 1.5, skopeo 1.0 or later.
    Zstd,
}

/// The zstd level: beyond it, time grows and size hardly shrinks.
const ZSTD_LEVEL: i32 = 19;

/// What a layer holds, by path in the image.
#[derive(Debug, Default)]
pub(super) struct Files(BTreeMap<String, (Vec<u8>, u32)>);

/// A finished layer.
#[derive(Debug)]
pub(super) struct Layer {
    /// The digest before compression.
    pub(super) diff_id: Digest,
    pub(super) content: Vec<u8>,
    pub(super) media_type: &'static str,
}

impl Files {
    /// Adds a program at the path `to`.
    pub(super) fn program(&mut self, to: &str, content: Vec<u8>) {
        self.0.insert(to.to_owned(), (content, 0o555));
    }

    /// Adds a file at the path `to`.
    pub(super) fn file(&mut self, to: &str, content: Vec<u8>) {
        self.0.insert(to.to_owned(), (content, 0o444));
    }

    /// The layer. All times are `epoch`, in seconds since 1970; everything is root's and read-only, in
    /// the order of its path.
    pub(super) fn layer(&self, epoch: u64, compression: Compression) -> io::Result<Layer> {
        let archive = self.archive(epoch)?;
        let (content, media_type) = match compression {
            Compression::Gzip => (gzip(&archive)?, media_type::LAYER_GZIP),
            Compression::Zstd => {
                let content = zstd::encode_all(archive.as_slice(), ZSTD_LEVEL)?;
                (content, media_type::LAYER_ZSTD)
            }
        };
        Ok(Layer { diff_id: Digest::of(&archive), content, media_type })
    }

    fn archive(&self, epoch: u64) -> io::Result<Vec<u8>> {
        let mut tar = tar::Builder::new(Vec::new());
        // A folder comes before what is in it, as its path is a prefix of theirs.
        let folders = self.0.keys().flat_map(|path| Path::new(path).ancestors().skip(1));
        let folders = folders.filter_map(Path::to_str).filter(|it| !matches!(*it, "/" | ""));
        for folder in folders.collect::<BTreeSet<_>>() {
            let mut header = header(tar::EntryType::Directory, 0o555, 0, epoch);
            tar.append_data(&mut header, format!("{}/", inside(folder)), io::empty())?;
        }
        for (path, (content, mode)) in &self.0 {
            let mut header = header(tar::EntryType::Regular, *mode, content.len() as u64, epoch);
            tar.append_data(&mut header, inside(path), content.as_slice())?;
        }
        tar.into_inner()
    }
}

/// A path as archives have it.
fn inside(path: &str) -> &str {
    path.trim_start_matches('/')
}

fn header(kind: tar::EntryType, mode: u32, size: u64, epoch: u64) -> tar::Header {
    let mut header = tar::Header::new_ustar();
    header.set_entry_type(kind);
    header.set_mode(mode);
    header.set_uid(0);
    header.set_gid(0);
    header.set_size(size);
    header.set_mtime(epoch);
    header
}

/// Compressed without the time and system that gzip would note.
fn gzip(content: &[u8]) -> io::Result<Vec<u8>> {
    /// What RFC 1952 has for an unknown system.
    const UNKNOWN: u8 = 255;
    let builder = GzBuilder::new().mtime(0).operating_system(UNKNOWN);
    let mut encoder = builder.write(Vec::new(), Level::best());
    encoder.write_all(content)?;
    encoder.finish()
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use super::*;

    fn files() -> Files {
        let mut files = Files::default();
        files.program("/scheduler", b"program".to_vec());
        files.file("/etc/ssl/certs/ca-certificates.crt", b"roots".to_vec());
        files.file("/etc/a", b"a".to_vec());
        files
    }

    #[test]
    fn folders_come_first_and_everything_is_roots_and_read_only() {
        let layer = files().layer(1_700_000_000, Compression::Gzip).unwrap();
        let mut archive = Vec::new();
        flate2::read::GzDecoder::new(layer.content.as_slice()).read_to_end(&mut archive).unwrap();
        assert_eq!(Digest::of(&archive), layer.diff_id);
        let mut tar = tar::Archive::new(archive.as_slice());
        let entries = tar.entries().unwrap().map(|entry| {
            let entry = entry.unwrap();
            let header = entry.header();
            assert_eq!((header.uid().unwrap(), header.gid().unwrap()), (0, 0));
            assert_eq!(header.mtime().unwrap(), 1_700_000_000);
            assert_eq!(header.mode().unwrap() & 0o222, 0, "nobody may write");
            (entry.path().unwrap().display().to_string(), header.mode().unwrap())
        });
        let expected = [
            ("etc/", 0o555),
            ("etc/ssl/", 0o555),
            ("etc/ssl/certs/", 0o555),
            ("etc/a", 0o444),
            ("etc/ssl/certs/ca-certificates.crt", 0o444),
            ("scheduler", 0o555),
        ];
        let expected: Vec<_> = expected.map(|(path, mode)| (path.to_owned(), mode)).into();
        assert_eq!(entries.collect::<Vec<_>>(), expected);
    }

    #[test]
    fn zstd_holds_the_same_archive() {
        let gzip = files().layer(0, Compression::Gzip).unwrap();
        let zstd = files().layer(0, Compression::Zstd).unwrap();
        assert_eq!(gzip.diff_id, zstd.diff_id);
        assert_eq!(Digest::of(&zstd::decode_all(zstd.content.as_slice()).unwrap()), zstd.diff_id);
        assert_eq!(zstd.media_type, "application/vnd.oci.image.layer.v1.tar+zstd");
    }
}
