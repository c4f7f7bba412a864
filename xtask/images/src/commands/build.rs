//! `cargo xtask build`.

use std::{path::Path, process::ExitCode};

use anstream::println;
use serde_json::json;
use xtask_images::{
    build::build_with_less, doctor::Step, lock::Lock, recipe::Recipe, signals::Stop, site::Site,
    topology::Topology,
};

use super::{
    prepare::{self, Begin},
    results::{self, Binary},
};
use crate::{
    options::build::{Options, Output},
    progress::note,
};

/// Builds the binary of an image for one platform.
pub(crate) async fn run(
    options: &Options,
    root: &Path,
    stop: &mut Stop,
) -> anyhow::Result<ExitCode> {
    let site = Site::find(root)?;
    let topology = Topology::read(root)?;
    let recipe = Recipe::read(root, &options.name)?;
    site.package(&recipe.binary.package, &recipe.binary.name)?;
    let platform = options.platform.iter().cloned().collect::<Vec<_>>();
    let mut platforms = prepare::platforms(&platform)?;
    if platforms.is_empty() {
        platforms.push(prepare::native());
    }
    let begin = Begin {
        site: &site,
        topology: &topology,
        step: Step::Build,
        binaries: &[&recipe.binary],
        platforms: &platforms,
        effort: &options.effort,
        registry: None,
    };
    let prepared = begin.check()?;
    let _lock = Lock::take(&site.target, &format!("cargo xtask build {}", recipe.name))?;
    let mut results = Vec::new();
    for (toolchain, plan) in &prepared.builds {
        results::announce(toolchain, plan);
        let mut tell = |text: &str| note(&format!("{}: {text}", toolchain.platform));
        let binary = &recipe.binary;
        let built = build_with_less(&site, binary, toolchain, plan, stop, &mut tell).await?;
        results.push(Binary { toolchain: toolchain.clone(), built });
    }
    match options.output {
        Output::Json => {
            let document = json!({"version": 1, "binaries": results::json(&results)});
            println!("{}", serde_json::to_string_pretty(&document)?);
        }
        Output::Table => {
            println!("{}", results::table(&results, topology.build_budget()));
            for it in &results {
                println!("{}", it.built.path.display());
            }
        }
    }
    Ok(ExitCode::SUCCESS)
}
