//! `cargo xtask teardown`: what stages have left, removed.

#[path = "teardown/options.rs"]
mod options;
#[cfg(test)]
#[path = "teardown/tests.rs"]
mod tests;

use std::{
    fs, io,
    path::{Path, PathBuf},
    process::{Command, ExitCode, Stdio},
};

use anstream::println;
use anyhow::{Context as _, bail};
use serde::{Deserialize, Serialize};

pub(crate) use options::Options;

use crate::{
    Programs,
    process::Left,
    stage1::{
        cluster::Cluster,
        site::Access,
        workload::{Made, undo},
    },
    stage2::deployed::{self, Placed},
};

/// What is said when a removal is given up half way.
pub(crate) const INTERRUPTED: &str = "interrupted while removing the namespaces sched-lab and the second scheduler's; remove them with `kubectl delete namespace`";

/// Where stages keep what they saw and left, below the target folder.
const STAGES: &str = "stages";
/// How the files end that tell what a stage left up.
const KEPT: &str = "-kept.json";
/// Where the lab cluster of a lab page is, below the repository: the program `lab` knows no cargo.
const LAB: &str = "target/lab";

/// What a stage left up.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Kept {
    /// Which stage.
    pub(crate) stage: String,
    /// Somebody's cluster; a lab cluster has its own place.
    pub(crate) kubeconfig: Option<PathBuf>,
    /// What was applied there.
    pub(crate) objects: Vec<Placed>,
    /// Whether the workload is there.
    pub(crate) workload: bool,
    /// Processes beside the lab cluster's.
    pub(crate) processes: Vec<Left>,
    /// The stage's temporary files.
    pub(crate) folder: PathBuf,
}

impl Kept {
    /// Notes it for the teardown, in the target folder.
    pub(crate) fn write(&self, target: &Path) -> anyhow::Result<()> {
        let text = serde_json::to_string_pretty(self).context("cannot write what is left up")?;
        let folder = target.join(STAGES);
        fs::create_dir_all(&folder)
            .and_then(|()| fs::write(folder.join(format!("{}{KEPT}", self.stage)), text))
            .with_context(|| format!("cannot write to {}", folder.display()))
    }

    /// What stages have noted in the target folder.
    fn read(target: &Path) -> anyhow::Result<Vec<Self>> {
        let folder = target.join(STAGES);
        let mut files = match fs::read_dir(&folder) {
            Ok(entries) => entries.map(|it| Ok(it?.path())).collect::<io::Result<Vec<_>>>(),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
            Err(error) => Err(error),
        }
        .context("cannot read what is left up")?;
        files.retain(|it| it.to_string_lossy().ends_with(KEPT));
        files.sort();
        let read = |file: &PathBuf| {
            let bytes = fs::read(file).context("cannot read what is left up")?;
            serde_json::from_slice(&bytes).with_context(|| {
                format!(
                    "cannot read {}; remove the file, and what it names by hand",
                    file.display()
                )
            })
        };
        files.iter().map(read).collect()
    }

    /// Removes it, and says so.
    async fn remove(&self) -> anyhow::Result<()> {
        for process in &self.processes {
            if process.end() {
                println!("ended the process {} of {}", process.pid, self.stage);
            }
        }
        if let Some(kubeconfig) = &self.kubeconfig {
            let access = Access { kubeconfig: kubeconfig.clone(), name: String::new() };
            let client = access.client().await?;
            if self.workload {
                undo(&Cluster::new(client.clone()), &[Made::Deployment, Made::Namespace]).await?;
            }
            deployed::remove(&client, &self.objects).await?;
            println!("removed the objects of {} from the cluster", self.stage);
        }
        remove(&self.folder)
    }

    /// What [`Kept::remove`] would do, a line a step.
    fn steps(&self) -> Vec<String> {
        let processes = self.processes.iter().map(|it| format!("kill {}", it.pid));
        let objects = self.objects.iter().map(|it| format!("delete {}", it.describe()));
        let folder = format!("remove {}", self.folder.display());
        processes.chain(objects).chain([folder]).collect()
    }
}

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
    for it in &kept {
        it.remove().await?;
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

fn remove(folder: &Path) -> anyhow::Result<()> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(error).with_context(|| format!("cannot remove {}", folder.display()))
        }
        _ => Ok(()),
    }
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
