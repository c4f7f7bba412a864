//! What a stage has made, noted before it is: so that it is found whatever becomes of the stage.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use anstream::println;
use anyhow::Context as _;
use serde::{Deserialize, Serialize};

use crate::{
    process::Left,
    stage1::{
        cluster::Cluster,
        site::Access,
        workload::{Made, undo},
    },
    stage2::deployed::{self, Placed},
};

/// Where stages keep what they saw and left, below the target folder.
pub(crate) const STAGES: &str = "stages";
/// How the files end that tell what a stage has made.
const KEPT: &str = "-kept.json";

/// What a stage has made.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Kept {
    /// Which stage.
    pub(crate) stage: String,
    /// The stage itself, which removes everything when it ends; none where it has left it up.
    pub(crate) owner: Option<Left>,
    /// Somebody's cluster; a lab cluster has its own place.
    pub(crate) kubeconfig: Option<PathBuf>,
    /// What was applied there.
    pub(crate) objects: Vec<Placed>,
    /// What is there of the workload.
    pub(crate) made: Vec<Made>,
    /// Processes beside the lab cluster's that do not end with the stage.
    pub(crate) processes: Vec<Left>,
    /// The stage's temporary files; there is none of the name of another's.
    pub(crate) folder: PathBuf,
}

impl Kept {
    /// What a stage has made that has just begun: its folder.
    pub(crate) fn begun(stage: &str, folder: &Path) -> Self {
        Self {
            stage: stage.to_owned(),
            owner: Left::of(std::process::id()),
            kubeconfig: None,
            objects: Vec::new(),
            made: Vec::new(),
            processes: Vec::new(),
            folder: folder.to_owned(),
        }
    }

    /// Notes it for the teardown, in the target folder.
    pub(crate) fn write(&self, target: &Path) -> anyhow::Result<()> {
        let text = serde_json::to_string_pretty(self).context("cannot write what is left up")?;
        let file = self.file(target);
        let whole = file.with_extension("new");
        fs::create_dir_all(target.join(STAGES))
            .and_then(|()| fs::write(&whole, text))
            .and_then(|()| fs::rename(&whole, &file))
            .with_context(|| format!("cannot write {}", file.display()))
    }

    /// Forgets it: there is nothing left.
    pub(crate) fn forget(&self, target: &Path) -> anyhow::Result<()> {
        let file = self.file(target);
        match fs::remove_file(&file) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(error).with_context(|| format!("cannot remove {}", file.display()))
            }
            _ => Ok(()),
        }
    }

    fn file(&self, target: &Path) -> PathBuf {
        let name = self.folder.file_name().unwrap_or_default().to_string_lossy();
        target.join(STAGES).join(format!("{name}{KEPT}"))
    }

    /// What stages have noted in the target folder.
    pub(crate) fn read(target: &Path) -> anyhow::Result<Vec<Self>> {
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

    /// Whether the stage is still at it.
    pub(crate) fn is_running(&self) -> bool {
        self.owner.is_some_and(Left::is_running)
    }

    /// Whether the stage ended without a chance to remove what it made.
    fn is_orphaned(&self) -> bool {
        self.owner.is_some_and(|it| !it.is_running())
    }

    /// Removes what earlier stages left on this machine that were killed. What they left in somebody's
    /// cluster is for the teardown: it takes time, and the cluster may be away.
    pub(crate) fn sweep(target: &Path) -> anyhow::Result<Vec<String>> {
        let mut done = Vec::new();
        for kept in Self::read(target)?.into_iter().filter(Self::is_orphaned) {
            let Self { stage, folder, .. } = &kept;
            if kept.kubeconfig.is_some() {
                done.push(format!(
                    "An earlier {stage} was killed; `cargo xtask teardown` removes what it left in \
                     its cluster."
                ));
                continue;
            }
            kept.end_processes();
            remove(folder)?;
            kept.forget(target)?;
            let folder = folder.display();
            done.push(format!("An earlier {stage} was killed; removed its files in {folder}."));
        }
        Ok(done)
    }

    /// Removes it, and says so.
    pub(crate) async fn remove(&self, target: &Path) -> anyhow::Result<()> {
        for process in self.end_processes() {
            println!("ended the process {process} of {}", self.stage);
        }
        if self.remove_from_cluster().await? {
            println!("removed the objects of {} from the cluster", self.stage);
        }
        remove(&self.folder)?;
        self.forget(target)
    }

    /// The numbers of those that still ran.
    fn end_processes(&self) -> Vec<u32> {
        self.processes.iter().filter(|it| it.end()).map(|it| it.pid).collect()
    }

    /// Removes what is in somebody's cluster; says whether that is anything.
    pub(crate) async fn remove_from_cluster(&self) -> anyhow::Result<bool> {
        let Some(kubeconfig) = &self.kubeconfig else { return Ok(false) };
        if self.made.is_empty() && self.objects.is_empty() {
            return Ok(false);
        }
        let access = Access { kubeconfig: kubeconfig.clone(), name: String::new() };
        let client = access.client().await?;
        undo(&Cluster::new(client.clone()), &self.made).await?;
        deployed::remove(&client, &self.objects).await?;
        Ok(true)
    }

    /// What [`Kept::remove`] would do, a line a step.
    pub(crate) fn steps(&self) -> Vec<String> {
        let processes = self.processes.iter().map(|it| format!("kill {}", it.pid));
        let made = self.made.iter().map(|it| match it {
            Made::Namespace => "delete Namespace sched-lab".to_owned(),
            Made::Deployment => "delete Deployment spread in namespace sched-lab".to_owned(),
        });
        let objects = self.objects.iter().map(|it| format!("delete {}", it.describe()));
        let folder = format!("remove {}", self.folder.display());
        processes.chain(made).chain(objects).chain([folder]).collect()
    }
}

/// Removes a folder, if it is there.
pub(crate) fn remove(folder: &Path) -> anyhow::Result<()> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(error).with_context(|| format!("cannot remove {}", folder.display()))
        }
        _ => Ok(()),
    }
}
