//! `cargo xtask teardown`: what stages have left, removed.

#[path = "teardown/options.rs"]
mod options;
#[cfg(test)]
#[path = "teardown/tests.rs"]
mod tests;

use std::{
    path::{Path, PathBuf},
    process::{Command, ExitCode, Stdio},
};

use anstream::println;
use anyhow::{Context as _, bail};

pub(crate) use options::Options;

use crate::{
    Programs, UserError,
    kept::{Kept, STAGES, remove},
};

/// Where the lab cluster of a lab page is, below the repository: the program `lab` knows no cargo.
const LAB: &str = "target/lab";

/// Removes everything that stages have left, and says so.
pub(crate) async fn run(options: Options, programs: Programs) -> anyhow::Result<ExitCode> {
    let Programs { root, target, .. } = &programs;
    let kept = Kept::read(target)?;
    let stages = target.join(STAGES);
    if options.dry_run {
        kept.iter().flat_map(Kept::steps).for_each(|it| println!("{it}"));
        println!("lab down\ncargo xtask forge down\nremove {}", shown(&stages, root));
        return Ok(ExitCode::SUCCESS);
    }
    if let Some(running) = kept.iter().find(|it| it.is_running()) {
        let pid = running.owner.map_or(0, |it| it.pid);
        let stage = &running.stage;
        let text = format!(
            "{stage} is running, process {pid}, and removes what it made when it ends.\n\nhint: wait \
             for it, or end it with `kill {pid}`, then run this again"
        );
        return Err(UserError(text).into());
    }
    for it in &kept {
        it.remove(target).await?;
    }
    stop_labs(&programs)?;
    if let Some(images) = &programs.images {
        let mut command = Command::new(images);
        command.arg("--root").arg(root).args(["forge", "down"]).stdin(Stdio::null());
        if !command.status().context("cannot run `forge down`")?.success() {
            bail!("the registry is still up; `cargo xtask forge down` stops it");
        }
    }
    remove(&stages)?;
    println!("removed what the stages saw: {}", shown(&stages, root));
    for (place, what) in stays(target) {
        println!("kept {what}: {}", shown(&place, root));
    }
    Ok(ExitCode::SUCCESS)
}

/// Stops the lab cluster that a page has left up, and the one of a stage, which is in the target folder.
fn stop_labs(programs: &Programs) -> anyhow::Result<()> {
    let Programs { root, target, .. } = programs;
    let (pages, stages) = (root.join(LAB), target.join("lab"));
    let mut places = vec![LAB.into()];
    if stages != pages {
        places.push(stages);
    }
    for place in places.into_iter().filter(|it: &PathBuf| root.join(it).exists()) {
        let mut command = Command::new(&programs.lab);
        command.args(["down", "--state-dir"]).arg(&place).current_dir(root).stdin(Stdio::null());
        if !command.status().context("cannot run `lab down`")?.success() {
            let place = place.display();
            bail!(
                "the lab cluster is still up; `cargo xtask lab down --state-dir {place}` stops it"
            );
        }
    }
    Ok(())
}

/// A path as people write it: from the repository, if it is in there.
fn shown(path: &Path, root: &Path) -> String {
    path.strip_prefix(root).unwrap_or(path).display().to_string()
}

/// What stays: images, in the target folder and in the registry, and what builds took.
fn stays(target: &Path) -> Vec<(PathBuf, &'static str)> {
    let places = [
        ("images", "the images that were built"),
        ("forge/data", "the registry's images"),
        ("measurements.json", "what the builds took"),
    ];
    let places = places.into_iter().map(|(place, what)| (target.join(place), what));
    places.filter(|(place, _)| place.exists()).collect()
}
