//! `cargo xtask build-image`.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, ExitCode, Stdio},
};

use anstream::println;
use anyhow::{Context as _, bail};
use serde_json::{Value, json};
use xtask_images::{
    assemble::{Bill, Compression, Facts, Program, assemble, write_archive},
    build::build_with_less,
    cross::Toolchain,
    digest::Digest,
    doctor::{self, Step},
    layout::Layout,
    lock::Lock,
    provenance::{Provenance, provenance},
    push::{Existing, Pushed},
    recipe::{self, Binary as Source, Recipe},
    reference::Reference,
    signals::Stop,
    site::{Package, Site},
    size::Size,
    topology::Topology,
    transport::Endpoint,
    verify::{self, Report},
};

use super::{
    UserError,
    prepare::{self, Begin},
    registry,
    results::{self, Binary},
};
use crate::{
    options::{
        build::Output,
        build_image::{Compression as CompressionOption, Options},
    },
    progress::{Steps, note},
};

/// Builds images.
pub(crate) async fn run(
    options: &Options,
    root: &Path,
    stop: &mut Stop,
) -> anyhow::Result<ExitCode> {
    let site = Site::find(root)?;
    let topology = Topology::read(root)?;
    let recipes = recipes(options, root)?;
    let outputs = outputs(options, recipes.len())?;
    let platforms = prepare::platforms(&options.platform)?;
    let mut binaries: Vec<&Source> = Vec::new();
    for recipe in &recipes {
        site.package(&recipe.binary.package, &recipe.binary.name)?;
        Reference::tagged(&options.registry, &recipe.repository, &options.tag)?;
        if !binaries.contains(&&recipe.binary) {
            binaries.push(&recipe.binary);
        }
    }
    let provenance = provenance(root)?;
    let registry = if options.push {
        let insecure = &options.transport.insecure_registry;
        let endpoint = Endpoint::new(&options.registry, &topology.registries, insecure);
        Some((options.registry.clone(), doctor::registry(&endpoint).await))
    } else {
        None
    };
    let begin = Begin {
        site: &site,
        topology: &topology,
        step: if options.push { Step::Push } else { Step::Image },
        binaries: &binaries,
        platforms: &platforms,
        effort: &options.effort,
        registry,
    };
    let prepared = begin.check()?;
    let command = format!("cargo xtask build-image {}", options.names.join(" "));
    let lock = Lock::take(&site.target, &command)?;
    // In the order of `binaries`, each for every platform.
    let mut built = Vec::new();
    for (i, (toolchain, plan)) in prepared.builds.iter().enumerate() {
        let binary = binaries[i / platforms.len()];
        results::announce(toolchain, plan);
        let mut tell = |text: &str| note(&format!("{}: {text}", toolchain.platform));
        let one = build_with_less(&site, binary, toolchain, plan, stop, &mut tell).await?;
        built.push((binary, Binary { toolchain: toolchain.clone(), built: one }));
    }
    let mut images = Vec::new();
    for recipe in &recipes {
        stop.check()?;
        let own = built.iter().filter(|(binary, _)| **binary == recipe.binary);
        let own: Vec<&Binary> = own.map(|(_, it)| it).collect();
        let facts = facts(options, recipe, &provenance, &site)?;
        let layout = put_together(&site, recipe, &facts, &own)?;
        for output in &outputs {
            output.write(&layout, facts.epoch)?;
        }
        let reference = Reference::tagged(&options.registry, &recipe.repository, &options.tag)?;
        images.push(Finished { reference, layout, pushed: None });
    }
    stop.check()?;
    drop(lock);
    let binaries: Vec<Binary> = built.into_iter().map(|(_, it)| it).collect();
    if options.result == Output::Table {
        // Before anything is pushed: what was built is worth knowing though the registry be down.
        show(&binaries, &images, topology.build_budget())?;
    }
    if options.push {
        push(options, &mut images, &topology, stop).await?;
    }
    if options.result == Output::Json {
        show_json(&binaries, &images)?;
    }
    let right = images.iter().flat_map(|it| &it.pushed).all(|(_, report)| report.is_right());
    Ok(ExitCode::from(u8::from(!right)))
}

/// Pushes the images and verifies them from outside.
async fn push(
    options: &Options,
    images: &mut [Finished],
    topology: &Topology,
    stop: &mut Stop,
) -> anyhow::Result<()> {
    let existing = if options.overwrite { Existing::Overwrite } else { Existing::Keep };
    for image in images {
        let what = (&image.layout, &image.reference);
        let how = (&options.transport, existing);
        let pushed = registry::push_and_verify(what, topology, how, stop).await?;
        if options.result == Output::Table {
            println!("\n{}", verify::table(&pushed.1));
        }
        image.pushed = Some(pushed);
    }
    Ok(())
}

/// The recipes that are asked for.
fn recipes(options: &Options, root: &Path) -> anyhow::Result<Vec<Recipe>> {
    let all = options.names.iter().any(|it| it == "all");
    let names = if all { recipe::names(root)? } else { options.names.clone() };
    Ok(names.iter().map(|it| Recipe::read(root, it)).collect::<Result<_, _>>()?)
}

/// Where else an image goes.
#[derive(Debug, PartialEq, Eq)]
enum Elsewhere {
    Archive(PathBuf),
    Folder(PathBuf),
}

fn outputs(options: &Options, images: usize) -> anyhow::Result<Vec<Elsewhere>> {
    if images > 1 && !options.output.is_empty() {
        bail!(UserError("--output: one place holds one image; name one image".to_owned()));
    }
    options.output.iter().map(|it| output(it)).collect()
}

fn output(text: &str) -> anyhow::Result<Elsewhere> {
    match text.split_once(':') {
        Some(("oci-archive", file)) if !file.is_empty() => Ok(Elsewhere::Archive(file.into())),
        Some(("oci", folder)) if !folder.is_empty() => Ok(Elsewhere::Folder(folder.into())),
        _ => {
            let why = format!("--output {text}: write `oci-archive:FILE` or `oci:DIR`");
            Err(UserError(why).into())
        }
    }
}

impl Elsewhere {
    fn write(&self, layout: &Layout, epoch: u64) -> anyhow::Result<()> {
        match self {
            Self::Archive(file) => {
                write_archive(layout, file, epoch)?;
                note(&format!("written to {}", file.display()));
            }
            Self::Folder(folder) => {
                layout.copy_to(folder)?;
                note(&format!("copied to {}", folder.display()));
            }
        }
        Ok(())
    }
}

/// What the image says of itself.
fn facts(
    options: &Options,
    recipe: &Recipe,
    provenance: &Provenance,
    site: &Site,
) -> anyhow::Result<Facts> {
    let Package { version, license, .. } =
        site.package(&recipe.binary.package, &recipe.binary.name)?;
    let reference = Reference::tagged(&options.registry, &recipe.repository, &options.tag)?;
    let provenance = provenance.clone();
    Ok(Facts {
        epoch: provenance.epoch,
        created: provenance.created,
        revision: provenance.revision,
        source: recipe.source.clone().unwrap_or(provenance.source),
        version: version.clone(),
        licenses: license.clone().unwrap_or_default(),
        tag: options.tag.clone(),
        reference: reference.to_string(),
        compression: match options.compression {
            CompressionOption::Gzip => Compression::Gzip,
            CompressionOption::Zstd => Compression::Zstd,
        },
    })
}

fn put_together(
    site: &Site,
    recipe: &Recipe,
    facts: &Facts,
    binaries: &[&Binary],
) -> anyhow::Result<Layout> {
    // The files, a layer for each platform, the index; and a bill of materials for each platform.
    let mut steps = Steps::new(&recipe.name, 2 + 2 * binaries.len());
    let mut programs = Vec::new();
    for Binary { toolchain, built } in binaries {
        let platform = &toolchain.platform;
        steps.next(&format!("bill of materials for {platform}"));
        let content = fs::read(&built.path);
        let content = content.with_context(|| format!("cannot read {}", built.path.display()))?;
        let bill = bill(site, &recipe.binary, toolchain)?;
        programs.push(Program { platform: platform.clone(), content, bill });
    }
    let dir = site.image(&recipe.name);
    let mut step = |it: String| steps.next(&it);
    Ok(assemble(recipe, &site.root, facts, &programs, &dir, &mut step)?)
}

/// Asks cargo what the binary is made of.
fn bill(site: &Site, binary: &Source, toolchain: &Toolchain) -> anyhow::Result<Bill> {
    let words = Bill::arguments(&binary.package, &binary.features, &toolchain.target);
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut cargo = Command::new(cargo);
    let output = cargo.args(words).current_dir(&site.root).stdin(Stdio::null()).output();
    let output = output.context("cannot run cargo tree")?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        bail!(UserError(format!("`cargo tree` tells of no crates: {said}")));
    }
    let lock = site.root.join("Cargo.lock");
    let lock = fs::read_to_string(&lock).context("cannot read Cargo.lock")?;
    Ok(Bill::parse(&String::from_utf8_lossy(&output.stdout), &lock)?)
}

/// An image that is there.
#[derive(Debug)]
struct Finished {
    reference: Reference,
    layout: Layout,
    /// What the registry has of it, if it was pushed.
    pushed: Option<(Pushed, Report)>,
}

fn show_json(binaries: &[Binary], images: &[Finished]) -> anyhow::Result<()> {
    let images = images.iter().map(Finished::json).collect::<anyhow::Result<Vec<_>>>()?;
    let document = json!({"version": 1, "binaries": results::json(binaries), "images": images});
    println!("{}", serde_json::to_string_pretty(&document)?);
    Ok(())
}

fn show(binaries: &[Binary], images: &[Finished], budget: Size) -> anyhow::Result<()> {
    println!("{}", results::table(binaries, budget));
    for finished in images {
        let image = finished.layout.image()?;
        println!("\n{}", finished.reference);
        println!("  index        {}", image.index.digest);
        for part in &image.platforms {
            let size: u64 = part.manifest.layers.iter().map(|it| it.size).sum();
            let size = Size::bytes(size);
            println!(
                "  {:<12} {}  {size} compressed",
                part.platform.to_string(),
                part.descriptor.digest
            );
        }
        println!("  in           {}", finished.layout.dir().display());
    }
    Ok(())
}

impl Finished {
    fn json(&self) -> anyhow::Result<Value> {
        let image = self.layout.image()?;
        let platforms = image.platforms.iter().map(|it| {
            json!({
                "platform": it.platform.to_string(),
                "digest": it.descriptor.digest,
                "layers": it.manifest.layers.iter().map(|it| json!({"digest": it.digest, "size": it.size}))
                    .collect::<Vec<_>>(),
            })
        });
        let bills: Vec<&Digest> = image.referrers.iter().map(|it| &it.descriptor.digest).collect();
        Ok(json!({
            "reference": self.reference.to_string(),
            "index": image.index.digest,
            "platforms": platforms.collect::<Vec<_>>(),
            "bills_of_materials": bills,
            "layout": self.layout.dir(),
            "pushed": self.pushed.as_ref().map(|(pushed, _)| pushed),
            "verified": self.pushed.as_ref().map(|(_, report)| report),
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_output_names_its_kind_and_its_place() {
        assert_eq!(output("oci-archive:a:b.tar").unwrap(), Elsewhere::Archive("a:b.tar".into()));
        assert_eq!(output("oci:dir").unwrap(), Elsewhere::Folder("dir".into()));
        for wrong in ["", "oci:", "docker-archive:x", "x.tar"] {
            let error = output(wrong).unwrap_err().to_string();
            assert!(error.contains("`oci-archive:FILE` or `oci:DIR`"), "{wrong}: {error}");
        }
    }
}
