//! `cargo xtask verify-tags`.

use std::{path::Path, process::ExitCode};

use anstream::{print, println};
use anyhow::bail;
use serde_json::json;
use xtask_images::{
    layout::{Image, Layout, LayoutError},
    recipe::{self, Recipe},
    reference::Reference,
    signals::Stop,
    site::Site,
    topology::Topology,
    verify::{Report, table},
};

use super::{UserError, registry};
use crate::options::{build::Output, verify_tags::Options};

/// An image to verify, and what was built of it.
struct Wanted {
    reference: Reference,
    built: Option<Image>,
}

/// Verifies images in a registry.
pub(crate) async fn run(
    options: &Options,
    root: &Path,
    stop: &mut Stop,
) -> anyhow::Result<ExitCode> {
    let site = Site::find(root)?;
    let topology = Topology::read(root)?;
    let mut reports = Vec::new();
    for Wanted { reference, built } in wanted(options, &site)? {
        let transport = &options.transport;
        let report = registry::verified(&reference, built.as_ref(), &topology, transport, stop);
        let report = report.await?;
        if options.output == Output::Table {
            print!("{}", table(&report));
        }
        reports.push(report);
    }
    let is_right = reports.iter().all(Report::is_right);
    if options.output == Output::Json {
        let document = json!({ "version": 1, "right": is_right, "images": reports });
        println!("{}", serde_json::to_string_pretty(&document)?);
    }
    Ok(ExitCode::from(u8::from(!is_right)))
}

/// What is asked for: images by name, references, or every image that was built.
fn wanted(options: &Options, site: &Site) -> anyhow::Result<Vec<Wanted>> {
    let recipes = recipe::names(&site.root)?;
    let recipes = recipes.iter().map(|it| Recipe::read(&site.root, it));
    let recipes = recipes.collect::<Result<Vec<_>, _>>()?;
    if options.images.is_empty() {
        let mut found = Vec::new();
        for recipe in &recipes {
            if let Some(built) = built(site, recipe)? {
                found.push(named(options, recipe, built)?);
            }
        }
        if found.is_empty() {
            let why = "no image was built; `cargo xtask build-image` builds one, and a reference can \
                       be verified without";
            bail!(UserError(why.to_owned()));
        }
        return Ok(found);
    }
    let one = |text: &String| {
        if !text.contains('/') {
            let recipe = Recipe::read(&site.root, text)?;
            let image = Layout::open(&site.image(&recipe.name))?.image()?;
            return named(options, &recipe, image);
        }
        let reference: Reference = text.parse()?;
        let mut built_here = None;
        let recipe = recipes.iter().find(|it| it.repository == reference.repository);
        if let Some(recipe) = recipe.filter(|_| reference.tag().is_some()) {
            built_here = built(site, recipe)?.filter(|it| reference.tag() == Some(&it.tag));
        }
        Ok(Wanted { reference, built: built_here })
    };
    options.images.iter().map(one).collect()
}

/// The image of a recipe, under the tag that is asked for or that it was built for.
fn named(options: &Options, recipe: &Recipe, image: Image) -> anyhow::Result<Wanted> {
    let tag = options.tag.as_ref().unwrap_or(&image.tag);
    let reference = Reference::tagged(&options.registry, &recipe.repository, tag)?;
    Ok(Wanted { reference, built: Some(image) })
}

/// What was built of a recipe, if anything was.
fn built(site: &Site, recipe: &Recipe) -> anyhow::Result<Option<Image>> {
    match Layout::open(&site.image(&recipe.name)) {
        Ok(layout) => Ok(Some(layout.image()?)),
        Err(LayoutError::Missing(_)) => Ok(None),
        Err(error) => Err(error.into()),
    }
}
