use std::{os::unix::process::CommandExt as _, process::Child};

use tempfile::TempDir;

use super::*;

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
        fs::write(place.root.path().join("lab"), lab).unwrap();
        let mode = <fs::Permissions as std::os::unix::fs::PermissionsExt>::from_mode(0o755);
        fs::set_permissions(place.root.path().join("lab"), mode).unwrap();
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
        let root = self.root.path().to_owned();
        let lab = root.join("lab");
        let programs = Programs {
            target: self.target().to_owned(),
            scheduler: lab.clone(),
            images: None,
            lab,
            root,
        };
        let code = run(Options { dry_run }, programs).await.unwrap();
        assert_eq!(code, ExitCode::SUCCESS);
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
    let (stage, objects) = ("stage1".to_owned(), Vec::new());
    Kept { stage, kubeconfig: None, objects, workload: false, processes, folder }
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
