use std::io::Write as _;

use flate2::Compression;
use flate2::write::GzEncoder;
use tempfile::TempDir;

use super::*;

const TAR: &str = "application/vnd.oci.image.layer.v1.tar";

/// One entry of a layer: a path that may be anything, a kind, and content or a link's target.
struct Item<'a>(&'a str, EntryType, &'a str);

fn file<'a>(path: &'a str, content: &'a str) -> Item<'a> {
    Item(path, EntryType::Regular, content)
}

/// A layer with paths as they are, also those that `tar` refuses to write.
fn layer(items: &[Item<'_>]) -> Vec<u8> {
    let mut builder = tar::Builder::new(Vec::new());
    for Item(path, kind, content) in items {
        let mut header = tar::Header::new_gnu();
        header.as_mut_bytes()[..path.len()].copy_from_slice(path.as_bytes());
        header.set_entry_type(*kind);
        header.set_mode(0o755);
        let linked = matches!(kind, EntryType::Symlink | EntryType::Link);
        if linked {
            header.set_link_name_literal(content).unwrap();
        }
        let data = if linked { &[] } else { content.as_bytes() };
        header.set_size(data.len() as u64);
        header.set_cksum();
        builder.append(&header, data).unwrap();
    }
    builder.into_inner().unwrap()
}

fn unpack(layers: &[Vec<u8>]) -> Result<TempDir, UnpackError> {
    let root = tempfile::tempdir().unwrap();
    let mut unpacker = Unpacker::new(root.path(), Limits::default());
    for data in layers {
        unpacker.layer(TAR, data.as_slice())?;
    }
    Ok(root)
}

fn read(root: &TempDir, path: &str) -> String {
    fs::read_to_string(root.path().join(path)).unwrap()
}

#[test]
fn later_layers_replace_and_whiteouts_take_away() {
    let below = layer(&[
        file("a", "below"),
        file("b", "below"),
        file("d/x", "below"),
        file("d/y", "below"),
        file("e/z", "below"),
    ]);
    let above = layer(&[
        file("a", "above"),
        file(".wh.b", ""),
        file("d/new", "above"),
        file("d/.wh..wh..opq", ""),
        file("e/.wh.z", ""),
    ]);
    let root = unpack(&[below, above]).unwrap();
    assert_eq!(read(&root, "a"), "above");
    assert_eq!(read(&root, "d/new"), "above");
    for gone in ["b", "d/x", "d/y", "e/z", "d/.wh..wh..opq"] {
        assert!(!root.path().join(gone).exists(), "{gone}");
    }
    assert!(root.path().join("e").is_dir());
}

#[test]
fn gzip_zstd_and_plain_layers_are_told_by_their_media_type() {
    let plain = layer(&[file("bin/x", "hello")]);
    let mut gzip = GzEncoder::new(Vec::new(), Compression::fast());
    gzip.write_all(&plain).unwrap();
    let zstd = zstd::encode_all(plain.as_slice(), 1).unwrap();
    for (suffix, data) in [("", plain), ("+gzip", gzip.finish().unwrap()), ("+zstd", zstd)] {
        let root = tempfile::tempdir().unwrap();
        let mut unpacker = Unpacker::new(root.path(), Limits::default());
        unpacker.layer(&format!("{TAR}{suffix}"), data.as_slice()).unwrap();
        assert_eq!(read(&root, "bin/x"), "hello", "{suffix}");
        let mode = root.path().join("bin/x").metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o755);
    }
    let root = tempfile::tempdir().unwrap();
    let refusal = Unpacker::new(root.path(), Limits::default()).layer("text/plain", &[][..]);
    assert!(matches!(refusal, Err(UnpackError::MediaType(_))));
}

#[test]
fn nothing_is_written_outside_of_the_image() {
    for items in [
        vec![file("../evil", "x")],
        vec![file("a/../../evil", "x")],
        vec![file("a/.wh...", "x")],
        vec![Item("a", EntryType::Link, "../../etc/passwd")],
    ] {
        let refusal = unpack(&[layer(&items)]);
        assert!(matches!(refusal, Err(UnpackError::Outside(_))), "{refusal:?}");
    }
    // Absolute paths and links are meant within the image.
    let outside = tempfile::tempdir().unwrap();
    let target = outside.path().to_str().unwrap();
    let root = unpack(&[layer(&[
        Item("link", EntryType::Symlink, target),
        file("link/evil", "x"),
        Item("up", EntryType::Symlink, "../../../.."),
        file("up/evil", "x"),
        file("/etc/conf", "x"),
    ])])
    .unwrap();
    assert_eq!(fs::read_dir(outside.path()).unwrap().count(), 0);
    let inside = format!("{}/evil", target.trim_start_matches('/'));
    assert_eq!(read(&root, &inside), "x");
    assert_eq!(read(&root, "evil"), "x");
    assert_eq!(read(&root, "etc/conf"), "x");
}

#[test]
fn a_layer_goes_on_through_the_links_of_the_one_below() {
    let below = layer(&[file("usr/lib/a", "x"), Item("lib", EntryType::Symlink, "usr/lib")]);
    let above = layer(&[file("lib/b", "x"), Item("c", EntryType::Link, "usr/lib/a")]);
    let root = unpack(&[below, above]).unwrap();
    assert_eq!(read(&root, "usr/lib/b"), "x");
    assert_eq!(read(&root, "c"), "x");
    let around = layer(&[
        Item("a", EntryType::Symlink, "b"),
        Item("b", EntryType::Symlink, "a"),
        file("a/x", ""),
    ]);
    assert!(matches!(unpack(&[around]), Err(UnpackError::Outside(_))));
}

#[test]
fn bytes_and_entries_are_limited_over_all_layers() {
    let root = tempfile::tempdir().unwrap();
    let data = layer(&[file("a", "12345"), file("b", "12345")]);
    let mut small = Unpacker::new(root.path(), Limits { bytes: 14, entries: 9 });
    small.layer(TAR, data.as_slice()).unwrap();
    let refusal = small.layer(TAR, data.as_slice()).unwrap_err();
    assert_eq!(refusal.to_string(), "the layers hold more than 14 bytes");
    let mut few = Unpacker::new(root.path(), Limits { bytes: 99, entries: 1 });
    let refusal = few.layer(TAR, data.as_slice()).unwrap_err();
    assert_eq!(refusal.to_string(), "the layers hold more than 1 entries");
}

#[test]
fn a_copy_has_the_same_files_links_and_modes() {
    let root =
        unpack(&[layer(&[file("bin/x", "hello"), Item("link", EntryType::Symlink, "bin/x")])])
            .unwrap();
    let copy = tempfile::tempdir().unwrap();
    copy_tree(root.path(), copy.path()).unwrap();
    assert_eq!(read(&copy, "link"), "hello");
    assert!(copy.path().join("link").symlink_metadata().unwrap().is_symlink());
    let mode = copy.path().join("bin/x").metadata().unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o755);
}
