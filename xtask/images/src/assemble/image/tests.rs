use super::*;
use crate::{
    elf,
    push::{Existing, push},
    scripted::{Faults, Quiet, Scripted},
    unpack::{UnpackError, Unpacked, from_archive, from_registry},
};

const TREE: &str = "0\tloadmaster-scheduler v0.1.0 (/src)\tApache-2.0\n1\titoa v1.0.2\tMIT\n";
const LOCK: &str = "[[package]]\nname = \"itoa\"\nversion = \"1.0.2\"\nchecksum = \"aa\"\n";

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn facts() -> Facts {
    Facts {
        epoch: 1_767_323_045,
        created: "2026-01-02T03:04:05Z".into(),
        revision: "4257d2e".into(),
        source: "https://example.com/loadmaster".into(),
        version: "0.1.0".into(),
        licenses: "Apache-2.0".into(),
        tag: "v1".into(),
        reference: "forge.lab:5000/academy/concentrate-scheduler:v1".into(),
        compression: Compression::Gzip,
    }
}

fn programs() -> Vec<Program> {
    let program = |platform: &str, machine| Program {
        platform: platform.parse().unwrap(),
        content: elf::tests::program(machine, false),
        bill: Bill::parse(TREE, LOCK).unwrap(),
    };
    vec![program("linux/amd64", 62), program("linux/arm64", 183)]
}

fn build(dir: &Path) -> Layout {
    let recipe = Recipe::read(&root(), "concentrate-scheduler").unwrap();
    assemble(&recipe, &root(), &facts(), &programs(), dir, &mut |_| {}).unwrap()
}

/// Every file of an image, with its content.
fn content(layout: &Layout) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut files = BTreeMap::new();
    let mut open = vec![layout.dir().to_owned()];
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                open.push(path);
            } else {
                let name = path.strip_prefix(layout.dir()).unwrap().to_owned();
                files.insert(name, fs::read(path).unwrap());
            }
        }
    }
    files
}

#[test]
fn building_twice_gives_the_same_files_to_the_byte() {
    let dir = tempfile::tempdir().unwrap();
    let first = content(&build(&dir.path().join("first")));
    let again = content(&build(&dir.path().join("again")));
    assert_eq!(first, again);
    assert!(first.len() > 10, "{:?}", first.keys());
    // And in place of an earlier one, with nothing of that left, nor of a run that was killed.
    let dir = dir.path().join("first");
    fs::create_dir_all(dir.with_file_name(".image-killed/blobs")).unwrap();
    fs::write(dir.join("blobs/sha256/old"), "old").unwrap();
    assert_eq!(content(&build(&dir)), first);
    let beside: Vec<_> = fs::read_dir(dir.parent().unwrap()).unwrap().collect();
    assert_eq!(beside.len(), 2, "no scratch folder is left: {beside:?}");
}

#[test]
fn each_platform_has_its_program_its_user_and_no_other_way_in() {
    let dir = tempfile::tempdir().unwrap();
    let layout = build(&dir.path().join("x"));
    let image = layout.image().unwrap();
    assert_eq!(image.tag, "v1");
    let platforms: Vec<_> = image.platforms.iter().map(|it| it.platform.to_string()).collect();
    assert_eq!(platforms, ["linux/amd64", "linux/arm64"]);
    for (part, program) in image.platforms.iter().zip(programs()) {
        assert_eq!(part.config.platform, program.platform);
        assert_eq!(part.config.config.user, "65532:65532");
        assert_eq!(part.config.config.entrypoint, ["/scheduler"]);
        assert_eq!(part.config.rootfs.diff_ids.len(), part.manifest.layers.len());
        let files = unpacked(&layout, part);
        assert_eq!(files["scheduler"], program.content);
        assert!(files["etc/ssl/certs/ca-certificates.crt"].starts_with(b"-----BEGIN CERTIFICATE"));
        let profile = fs::read(root().join("profiles/concentrate.yaml")).unwrap();
        assert_eq!(files["etc/kubernetes/scheduler-config.yaml"], profile);
        assert_eq!(files.len(), 5, "{:?}", files.keys());
    }
}

/// The files of a platform's image.
fn unpacked(layout: &Layout, part: &crate::layout::PlatformImage) -> BTreeMap<String, Vec<u8>> {
    let mut files = BTreeMap::new();
    for layer in &part.manifest.layers {
        let content = layout.get(layer).unwrap();
        let mut tar = tar::Archive::new(flate2::read::GzDecoder::new(content.as_slice()));
        for entry in tar.entries().unwrap() {
            let mut entry = entry.unwrap();
            if entry.header().entry_type().is_file() {
                let mut content = Vec::new();
                io::Read::read_to_end(&mut entry, &mut content).unwrap();
                files.insert(entry.path().unwrap().display().to_string(), content);
            }
        }
    }
    files
}

#[test]
fn the_index_and_each_image_say_where_they_come_from() {
    let dir = tempfile::tempdir().unwrap();
    let layout = build(&dir.path().join("x"));
    let image = layout.image().unwrap();
    let index: Index = layout.get_json(&image.index).unwrap();
    let all = [&index.annotations, &image.platforms[0].manifest.annotations];
    for annotations in all.into_iter().chain([&image.platforms[1].config.config.labels]) {
        assert_eq!(annotations["org.opencontainers.image.revision"], "4257d2e");
        assert_eq!(annotations["org.opencontainers.image.version"], "0.1.0");
        assert_eq!(annotations["org.opencontainers.image.created"], "2026-01-02T03:04:05Z");
        let source = &annotations["org.opencontainers.image.source"];
        assert_eq!(source, "https://example.com/loadmaster");
    }
}

#[test]
fn what_is_not_known_of_an_image_is_not_said() {
    let dir = tempfile::tempdir().unwrap();
    let recipe = Recipe::read(&root(), "scheduler").unwrap();
    let facts = Facts { source: String::new(), ..facts() };
    let layout =
        assemble(&recipe, &root(), &facts, &programs(), &dir.path().join("x"), &mut |_| {});
    let image = layout.unwrap().image().unwrap();
    let annotations = &image.platforms[0].manifest.annotations;
    assert!(!annotations.contains_key("org.opencontainers.image.source"), "{annotations:?}");
}

#[test]
fn a_bill_of_materials_refers_to_each_platforms_manifest() {
    let dir = tempfile::tempdir().unwrap();
    let layout = build(&dir.path().join("x"));
    let image = layout.image().unwrap();
    assert_eq!(image.referrers.len(), 2);
    for (referrer, part) in image.referrers.iter().zip(&image.platforms) {
        let manifest = &referrer.manifest;
        assert_eq!(manifest.artifact_type.as_deref(), Some("application/vnd.cyclonedx+json"));
        assert_eq!(manifest.subject.as_ref().unwrap().digest, part.descriptor.digest);
        let bill: serde_json::Value = layout.get_json(&manifest.layers[0]).unwrap();
        assert_eq!(bill["bomFormat"], "CycloneDX");
        assert_eq!(bill["components"][0]["name"], "itoa");
    }
}

#[test]
fn a_file_that_is_gone_leaves_the_earlier_image_in_place() {
    let dir = tempfile::tempdir().unwrap();
    let earlier = content(&build(&dir.path().join("x")));
    let mut recipe = Recipe::read(&root(), "concentrate-scheduler").unwrap();
    recipe.files[0].from = "profiles/gone.yaml".into();
    let built =
        assemble(&recipe, &root(), &facts(), &programs(), &dir.path().join("x"), &mut |_| {});
    assert!(matches!(&built, Err(AssembleError::Read(path, _)) if path.ends_with("gone.yaml")));
    assert_eq!(content(&Layout::open(&dir.path().join("x")).unwrap()), earlier);
}

#[test]
fn an_archive_of_the_image_holds_the_same_files_in_order() {
    let dir = tempfile::tempdir().unwrap();
    let layout = build(&dir.path().join("x"));
    let file = dir.path().join("out/image.tar");
    super::super::write_archive(&layout, &file, 7).unwrap();
    let mut tar = tar::Archive::new(fs::File::open(&file).unwrap());
    let names: Vec<_> =
        tar.entries().unwrap().map(|it| it.unwrap().path().unwrap().into_owned()).collect();
    assert_eq!(names, content(&layout).into_keys().collect::<Vec<_>>());
}

#[tokio::test]
async fn the_program_is_taken_out_of_the_registry_and_of_an_archive_alike() {
    let dir = tempfile::tempdir().unwrap();
    let layout = build(&dir.path().join("x"));
    let image = layout.image().unwrap();
    let registry = Scripted::start(Faults::default()).await;
    let repository = registry.repository();
    let target = (&repository, "v1");
    push((&layout, &image), target, Existing::Keep, &Quiet).await.unwrap();
    let file = dir.path().join("image.tar");
    super::super::write_archive(&layout, &file, 7).unwrap();

    for (i, program) in programs().into_iter().enumerate() {
        let to = dir.path().join(format!("to-{i}"));
        fs::create_dir(&to).unwrap();
        let expected =
            Unpacked { index: image.index.digest.clone(), program: to.join("scheduler") };
        let pulled = from_registry(&repository, "v1", &program.platform, &to).await.unwrap();
        assert_eq!(pulled, expected);
        assert_eq!(fs::read(&pulled.program).unwrap(), program.content);
        let mode = fs::metadata(&pulled.program).unwrap().permissions().mode();
        assert_eq!(mode & 0o111, 0o111, "it can be run");
        fs::remove_file(&pulled.program).unwrap();
        assert_eq!(from_archive(&file, &program.platform, &to).unwrap(), expected);
        assert_eq!(fs::read(&expected.program).unwrap(), program.content);
        assert_eq!(fs::read_dir(&to).unwrap().count(), 1, "nothing else is left there");
    }
    let other = "linux/riscv64".parse().unwrap();
    let error = from_archive(&file, &other, dir.path()).unwrap_err();
    assert!(matches!(&error, UnpackError::Platform { there, .. } if there.contains("arm64")));
    let error = from_registry(&repository, "v2", &other, dir.path()).await.unwrap_err();
    assert!(matches!(error, UnpackError::Missing(_)), "{error}");
}
