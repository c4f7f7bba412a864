//! `cargo xtask teardown`: what stages have left, removed.

#[path = "teardown/options.rs"]
mod options;

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
    stage1::{
        cluster::Cluster,
        site::Access,
        workload::{Made, undo},
    },
    stage2::deployed::{self, Placed},
};

/// What is said when a removal is given up half way.
pub(crate) const INTERRUPTED: &str = "interrupted while removing the namespaces sched-lab and the second scheduler's; remove them with `kubectl delete namespace`";

/// Where stages keep what they saw and left.
const STAGES: &str = "target/stages";
const KEPT: &str = "kept.json";

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
    /// The stage's temporary files.
    pub(crate) folder: PathBuf,
}

impl Kept {
    /// Notes it for the teardown.
    pub(crate) fn write(&self, root: &Path) -> anyhow::Result<()> {
        let text = serde_json::to_string_pretty(self).context("cannot write what is left up")?;
        let folder = root.join(STAGES);
        fs::create_dir_all(&folder)
            .and_then(|()| fs::write(folder.join(KEPT), text))
            .with_context(|| format!("cannot write to {}", folder.display()))
    }
}

/// Removes everything that stages have left, and says so.
pub(crate) async fn run(options: Options, programs: Programs) -> anyhow::Result<ExitCode> {
    let root = &programs.root;
    let kept_file = root.join(STAGES).join(KEPT);
    let kept: Option<Kept> = match fs::read(&kept_file) {
        Ok(bytes) => Some(serde_json::from_slice(&bytes).with_context(|| {
            format!(
                "cannot read {}; remove the file, and what it names by hand",
                kept_file.display()
            )
        })?),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => return Err(error).context("cannot read what is left up"),
    };
    if options.dry_run {
        describe(kept.as_ref());
        return Ok(ExitCode::SUCCESS);
    }
    if let Some(kept) = &kept {
        if let Some(kubeconfig) = &kept.kubeconfig {
            let access = Access { kubeconfig: kubeconfig.clone(), name: String::new() };
            let client = access.client().await?;
            if kept.workload {
                undo(&Cluster::new(client.clone()), &[Made::Deployment, Made::Namespace]).await?;
            }
            deployed::remove(&client, &kept.objects).await?;
            println!("removed the objects of {} from the cluster", kept.stage);
        }
        remove(&kept.folder)?;
    }
    if root.join("target/lab").exists() {
        let mut command = Command::new(&programs.lab);
        command.arg("down").current_dir(root).stdin(Stdio::null());
        if !command.status().context("cannot run `lab down`")?.success() {
            bail!("the lab cluster is still up; `cargo xtask lab down` stops it");
        }
    }
    if let Some(images) = &programs.images {
        let mut command = Command::new(images);
        command.arg("--root").arg(root).args(["forge", "down"]).stdin(Stdio::null());
        if !command.status().context("cannot run `forge down`")?.success() {
            bail!("the registry is still up; `cargo xtask forge down` stops it");
        }
    }
    remove(&root.join(STAGES))?;
    println!("removed what the stages saw: {STAGES}");
    tell_kept(root);
    Ok(ExitCode::SUCCESS)
}

fn describe(kept: Option<&Kept>) {
    if let Some(kept) = kept {
        for it in &kept.objects {
            println!("delete {}", it.describe());
        }
        println!("remove {}", kept.folder.display());
    }
    println!("lab down\ncargo xtask forge down\nremove {STAGES}");
}

fn remove(folder: &Path) -> anyhow::Result<()> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(error).with_context(|| format!("cannot remove {}", folder.display()))
        }
        _ => Ok(()),
    }
}

/// Says what stays: images, in the target folder and in the registry, and what builds took.
fn tell_kept(root: &Path) {
    for (place, what) in [
        ("target/images", "the images that were built"),
        ("target/forge/data", "the registry's images"),
        ("target/measurements.json", "what the builds took"),
    ] {
        if root.join(place).exists() {
            println!("kept {what}: {place}");
        }
    }
}
