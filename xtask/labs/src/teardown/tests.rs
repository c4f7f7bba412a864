use std::{fs, os::unix::process::CommandExt as _, process::Child};

use tempfile::TempDir;

use super::*;
use crate::{
    process::{Left, tests::script},
    stage1::workload::Made,
};

/// A repository that builds elsewhere, with a `lab` that notes what it is told.
struct Place {
    root: TempDir,
    target: TempDir,
}

impl Place {
    fn new() -> Self {
        let place =
            Self { root: tempfile::tempdir().unwrap(), target: tempfile::tempdir().unwrap() };
        let lab = "#!/bin/sh\necho \"$*\" >> \"$0.log\"\n";
        script(&place.root.path().join("lab"), lab);
        place
    }

    fn target(&self) -> &Path {
        self.target.path()
    }

    fn make(&self, file: &str) {
        let file = self.target().join(file);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, "").unwrap();
    }

    async fn teardown(&self, dry_run: bool) {
        assert_eq!(self.try_teardown(dry_run).await.unwrap(), ExitCode::SUCCESS);
    }

    async fn try_teardown(&self, dry_run: bool) -> anyhow::Result<ExitCode> {
        let root = self.root.path().to_owned();
        let lab = root.join("lab");
        let programs = Programs {
            target: self.target().to_owned(),
            scheduler: lab.clone(),
            images: None,
            lab,
            root,
        };
        run(Options { dry_run }, programs).await
    }

    /// What the lab was told.
    fn told(&self) -> String {
        fs::read_to_string(self.root.path().join("lab.log")).unwrap_or_default()
    }
}

/// Something that runs until it is asked to end.
fn sleeper() -> Child {
    let mut sleep = Command::new("sleep");
    sleep.arg("1000").process_group(0).spawn().unwrap()
}

fn left(place: &Place, processes: Vec<Left>) -> Kept {
    let folder = place.target().join("loadmaster-stage1-x");
    place.make("loadmaster-stage1-x/lab.log");
    Kept { owner: None, processes, ..Kept::begun("stage1", &folder) }
}

#[tokio::test]
async fn everything_that_stages_left_goes_and_images_stay_wherever_cargo_builds() {
    let place = Place::new();
    for file in ["stages/stage2.json", "lab/state", "images/a/index.json", "measurements.json"] {
        place.make(file);
    }
    let mut process = sleeper();
    let kept = left(&place, vec![Left::of(process.id()).unwrap()]);
    kept.write(place.target()).unwrap();

    place.teardown(true).await;
    assert!(place.told().is_empty() && kept.folder.exists(), "a dry run does nothing");
    assert_eq!(process.try_wait().unwrap(), None);

    place.teardown(false).await;
    assert!(process.wait().unwrap().code().is_none(), "a signal ended it");
    let lab = place.target().join("lab");
    assert_eq!(place.told(), format!("down --state-dir {}\n", lab.display()));
    assert!(!kept.folder.exists() && !place.target().join("stages").exists());
    let stays: Vec<PathBuf> = stays(place.target()).into_iter().map(|it| it.0).collect();
    assert_eq!(stays, ["images", "measurements.json"].map(|it| place.target().join(it)));
    // Once more: there is nothing to do, and that is fine.
    place.teardown(false).await;
}

#[test]
fn a_process_of_somebody_else_with_the_same_number_is_left_alone() {
    let mut process = sleeper();
    let was = Left::of(process.id()).unwrap();
    assert!(!Left { started: was.started + 1, ..was }.end());
    assert_eq!(process.try_wait().unwrap(), None);
    assert!(was.end());
    process.wait().unwrap();
    assert_eq!(Left::of(process.id()), None);
}

#[test]
fn a_note_that_is_not_understood_is_named() {
    let place = Place::new();
    place.make("stages/stage1-kept.json");
    let error = Kept::read(place.target()).unwrap_err().to_string();
    assert!(error.contains("stage1-kept.json") && error.contains("remove the file"), "{error}");
}

#[tokio::test]
async fn of_two_stages_that_are_kept_nothing_stays() {
    let place = Place::new();
    let mut processes = [sleeper(), sleeper()];
    let mut folders = Vec::new();
    for (stage, process) in ["stage1", "stage2"].iter().zip(&processes) {
        let folder = place.target().join(format!("loadmaster-{stage}-x"));
        place.make(&format!("loadmaster-{stage}-x/lab.log"));
        let processes = vec![Left::of(process.id()).unwrap()];
        let kept = Kept { owner: None, processes, ..Kept::begun(stage, &folder) };
        kept.write(place.target()).unwrap();
        folders.push(folder);
    }
    place.teardown(false).await;
    for process in &mut processes {
        assert!(process.wait().unwrap().code().is_none(), "a signal ended it");
    }
    assert!(folders.iter().all(|it| !it.exists()));
    assert!(Kept::read(place.target()).unwrap().is_empty());
}

#[tokio::test]
async fn a_stage_that_was_killed_leaves_nothing_for_long_and_one_that_runs_is_left_alone() {
    let place = Place::new();
    let mut stage = sleeper();
    let folder = place.target().join("loadmaster-stage1-x");
    place.make("loadmaster-stage1-x/lab.log");
    let owner = Left::of(stage.id());
    let kept = Kept { owner, ..Kept::begun("stage1", &folder) };
    kept.write(place.target()).unwrap();

    assert!(Kept::sweep(place.target()).unwrap().is_empty());
    let error = place.try_teardown(false).await.unwrap_err().to_string();
    let pid = stage.id();
    assert!(error.contains(&format!("stage1 is running, process {pid}")), "{error}");
    assert!(folder.exists());

    stage.kill().unwrap();
    stage.wait().unwrap();
    let told = Kept::sweep(place.target()).unwrap();
    assert_eq!(told.len(), 1);
    assert!(!folder.exists() && Kept::read(place.target()).unwrap().is_empty());

    // What it made in somebody's cluster is not given up on the way into another run.
    place.make("loadmaster-stage1-x/kubeconfig");
    let kubeconfig = Some(folder.join("kubeconfig"));
    Kept { kubeconfig, made: vec![Made::Namespace], ..kept }.write(place.target()).unwrap();
    let told = Kept::sweep(place.target()).unwrap();
    assert!(told[0].contains("`cargo xtask teardown`"), "{told:?}");
    assert!(folder.exists());
    let steps: Vec<String> = Kept::read(place.target()).unwrap()[0].steps();
    assert_eq!(steps[0], "delete Namespace sched-lab");
}
