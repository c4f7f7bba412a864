//! The image: one manifest for each platform, an index over them, a bill of materials for each.

use std::{
    collections::BTreeMap,
    fs, io,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
};

use base64::{Engine as _, prelude::BASE64_STANDARD};
use rustix::fs::{CWD, RenameFlags, renameat_with};
use tempfile::TempDir;

use super::{
    layer::{Compression, Files, Layer},
    sbom::{self, Bill},
};
use crate::{
    layout::{Layout, LayoutError},
    oci::{
        Descriptor, History, ImageConfig, Index, Manifest, Platform, RootFs, RunConfig, annotation,
        media_type,
    },
    recipe::Recipe,
};

#[cfg(test)]
mod tests;

/// How the names of unfinished images begin.
const SCRATCH: &str = ".image-";
/// Where programs look for the authorities that they trust.
const CA_BUNDLE: &str = "/etc/ssl/certs/ca-certificates.crt";
/// The name by which containerd keeps an image that it reads from a layout.
const CONTAINERD_NAME: &str = "io.containerd.image.name";

/// What an image says of itself.
#[derive(Clone, Debug)]
pub struct Facts {
    /// The time of everything in it, in seconds since 1970.
    pub epoch: u64,
    /// The same, as RFC 3339 has it.
    pub created: String,
    /// The commit that it was made from.
    pub revision: String,
    /// Where people find the source; nothing where that is not known.
    pub source: String,
    /// The program's version.
    pub version: String,
    /// The program's licences, as SPDX writes them.
    pub licenses: String,
    /// The tag.
    pub tag: String,
    /// The whole reference, with the registry and the tag.
    pub reference: String,
    /// How layers are compressed.
    pub compression: Compression,
}

/// The program for one platform.
#[derive(Clone, Debug)]
pub struct Program {
    /// Which.
    pub platform: Platform,
    /// The executable file.
    pub content: Vec<u8>,
    /// What it is made of.
    pub bill: Bill,
}

/// The image cannot be put together.
#[derive(Debug, thiserror::Error)]
pub enum AssembleError {
    /// A file that the recipe names.
    #[error("cannot read {}", .0.display())]
    Read(PathBuf, #[source] io::Error),
    /// A layer.
    #[error("cannot compress a layer")]
    Compress(#[source] io::Error),
    /// The finished image cannot be put in its place.
    #[error("cannot write the image {}", .0.display())]
    Place(PathBuf, #[source] io::Error),
    /// The layout.
    #[error(transparent)]
    Layout(#[from] LayoutError),
}

/// Puts the image together in the folder `dir`, in place of what was there. `step` is told what comes
/// next.
///
/// # Errors
/// When a file cannot be read, or the disk fails; the folder is then as it was.
pub fn assemble(
    recipe: &Recipe,
    root: &Path,
    facts: &Facts,
    programs: &[Program],
    dir: &Path,
    step: &mut dyn FnMut(String),
) -> Result<Layout, AssembleError> {
    let place = |it| AssembleError::Place(dir.to_owned(), it);
    let parent = dir.parent().unwrap_or(dir);
    fs::create_dir_all(parent).map_err(place)?;
    sweep(parent).map_err(place)?;
    let scratch = tempfile::Builder::new().prefix(SCRATCH).tempdir_in(parent).map_err(place)?;
    let layout = Layout::create(scratch.path())?;
    let image = Image { recipe, facts, layout: &layout };
    step("the files".to_owned());
    let shared = image.layer(&files(recipe, root)?)?;
    let mut parts = Vec::new();
    for program in programs {
        step(format!("{} for {}", recipe.binary.name, program.platform));
        parts.push(image.platform(program, &shared)?);
    }
    step("the index".to_owned());
    image.finish(parts)?;
    // Scratch folders are their owner's alone; this one is a result.
    fs::set_permissions(scratch.path(), fs::Permissions::from_mode(0o755)).map_err(place)?;
    put_in_place(scratch, dir).map_err(place)?;
    Ok(Layout::open(dir)?)
}

/// Removes what a run has left that was killed. Whoever assembles holds the lock of heavy steps, so
/// nobody is at work on it.
fn sweep(parent: &Path) -> io::Result<()> {
    for entry in fs::read_dir(parent)? {
        let entry = entry?;
        if entry.file_name().to_string_lossy().starts_with(SCRATCH) {
            fs::remove_dir_all(entry.path())?;
        }
    }
    Ok(())
}

/// Gives the finished folder its name. Where there is one of that name the two change places at once,
/// so that at every moment an image is there, the old one or the new one.
fn put_in_place(scratch: TempDir, dir: &Path) -> io::Result<()> {
    let exchange = RenameFlags::EXCHANGE;
    if dir.exists() && renameat_with(CWD, scratch.path(), CWD, dir, exchange).is_ok() {
        // What it holds now is the old one.
        return scratch.close();
    }
    // Not every file system can do that.
    match fs::remove_dir_all(dir) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    fs::rename(scratch.keep(), dir)
}

/// What every platform's image has beside the program.
fn files(recipe: &Recipe, root: &Path) -> Result<Files, AssembleError> {
    let mut files = Files::default();
    files.file(CA_BUNDLE, authorities().into_bytes());
    // Some clients ask for their user's name; nobody can log in, there is no shell.
    let user = recipe.run.user;
    let passwd = format!("nonroot:x:{user}:{user}:nonroot:/:/sbin/nologin\n");
    files.file("/etc/passwd", passwd.into_bytes());
    files.file("/etc/group", format!("nonroot:x:{user}:\n").into_bytes());
    for file in &recipe.files {
        let path = root.join(&file.from);
        let content = fs::read(&path).map_err(|it| AssembleError::Read(path, it))?;
        files.file(&file.to, content);
    }
    Ok(files)
}

/// Mozilla's certificate authorities, as PEM.
fn authorities() -> String {
    let mut pem = String::new();
    for certificate in webpki_root_certs::TLS_SERVER_ROOT_CERTS {
        pem.push_str("-----BEGIN CERTIFICATE-----\n");
        let text = BASE64_STANDARD.encode(certificate);
        let mut rest = text.as_str();
        while !rest.is_empty() {
            let (line, more) = rest.split_at(rest.len().min(64));
            pem.push_str(line);
            pem.push('\n');
            rest = more;
        }
        pem.push_str("-----END CERTIFICATE-----\n");
    }
    pem
}

struct Image<'a> {
    recipe: &'a Recipe,
    facts: &'a Facts,
    layout: &'a Layout,
}

/// A platform's manifest and what refers to it.
struct Part {
    manifest: Descriptor,
    bill: Descriptor,
}

/// A layer in the layout.
struct Stored {
    layer: Layer,
    descriptor: Descriptor,
}

impl Image<'_> {
    fn layer(&self, files: &Files) -> Result<Stored, AssembleError> {
        let layer = files.layer(self.facts.epoch, self.facts.compression);
        let layer = layer.map_err(AssembleError::Compress)?;
        let descriptor = self.layout.put(layer.media_type, &layer.content)?;
        Ok(Stored { layer, descriptor })
    }

    fn platform(&self, program: &Program, shared: &Stored) -> Result<Part, AssembleError> {
        let mut files = Files::default();
        files.program(&self.recipe.run.entrypoint, program.content.clone());
        let own = self.layer(&files)?;
        let config = self.config(program, &[shared, &own]);
        let config = self.layout.put_json(media_type::CONFIG, &config)?;
        let layers = vec![shared.descriptor.clone(), own.descriptor];
        let manifest = Manifest::image(config, layers, self.annotations());
        let mut manifest = self.layout.put_json(media_type::MANIFEST, &manifest)?;
        let bill = self.bill(program, &manifest)?;
        manifest.platform = Some(program.platform.clone());
        Ok(Part { manifest, bill })
    }

    fn config(&self, program: &Program, layers: &[&Stored]) -> ImageConfig {
        let run = &self.recipe.run;
        let mut labels = self.recipe.labels.clone();
        labels.extend(self.annotations());
        let history = |what: &str| History {
            created: Some(self.facts.created.clone()),
            created_by: Some(format!("cargo xtask build-image {}: {what}", self.recipe.name)),
        };
        ImageConfig {
            created: Some(self.facts.created.clone()),
            platform: program.platform.clone(),
            config: RunConfig {
                user: format!("{0}:{0}", run.user),
                env: vec![format!("SSL_CERT_FILE={CA_BUNDLE}")],
                entrypoint: vec![run.entrypoint.clone()],
                cmd: run.arguments.clone(),
                working_dir: "/".to_owned(),
                labels,
            },
            rootfs: RootFs {
                kind: "layers".to_owned(),
                diff_ids: layers.iter().map(|it| it.layer.diff_id.clone()).collect(),
            },
            history: vec![history("files"), history("program")],
        }
    }

    /// The bill of materials, as an artifact that refers to the platform's manifest.
    fn bill(&self, program: &Program, subject: &Descriptor) -> Result<Descriptor, AssembleError> {
        let document = program.bill.document(&self.recipe.binary.name, &self.facts.created);
        let kind = sbom::MEDIA_TYPE.to_owned();
        let content = self.layout.put_json(&kind, &document)?;
        let config = self.layout.put(media_type::EMPTY, b"{}")?;
        let created = (annotation::CREATED.to_owned(), self.facts.created.clone());
        let manifest = Manifest {
            artifact_type: Some(kind.clone()),
            subject: Some(subject.clone()),
            ..Manifest::image(config, vec![content], BTreeMap::from([created]))
        };
        let mut descriptor = self.layout.put_json(media_type::MANIFEST, &manifest)?;
        descriptor.artifact_type = Some(kind);
        descriptor.annotations = manifest.annotations;
        Ok(descriptor)
    }

    fn finish(&self, parts: Vec<Part>) -> Result<(), AssembleError> {
        let (manifests, bills): (Vec<_>, Vec<_>) =
            parts.into_iter().map(|it| (it.manifest, it.bill)).unzip();
        let index = Index::new(manifests, self.annotations());
        let mut index = self.layout.put_json(media_type::INDEX, &index)?;
        index.annotations = BTreeMap::from([
            (annotation::REF_NAME.to_owned(), self.facts.tag.clone()),
            (CONTAINERD_NAME.to_owned(), self.facts.reference.clone()),
        ]);
        let listed = std::iter::once(index).chain(bills).collect();
        self.layout.write_index(&Index::new(listed, BTreeMap::new()))?;
        Ok(())
    }

    fn annotations(&self) -> BTreeMap<String, String> {
        let facts = self.facts;
        let all = [
            (annotation::CREATED, &facts.created),
            (annotation::DESCRIPTION, &self.recipe.description),
            (annotation::LICENSES, &facts.licenses),
            (annotation::REVISION, &facts.revision),
            (annotation::SOURCE, &facts.source),
            (annotation::TITLE, &self.recipe.name),
            (annotation::VERSION, &facts.version),
        ];
        let said = all.into_iter().filter(|(_, value)| !value.is_empty());
        said.map(|(name, value)| (name.to_owned(), value.clone())).collect()
    }
}
