//! Against the real registry. Where it is missing these tests say so, and fail where `CI` is set.

use std::{os::unix::fs::PermissionsExt as _, process::Command};

use oci_client::secrets::RegistryAuth;
use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;
use xtask_heavy::process::started;

use super::*;
use crate::{
    fixture::{Built, built},
    push::{Existing, PushError, Pushed, push},
    scripted::{NAME, Quiet, repository},
    transport::{Kind, Repository},
    verify::{Report, State, verify},
};

/// A registry in a folder of its own that does not outlive the test.
struct Real {
    forge: Forge,
    program: PathBuf,
    folder: TempDir,
}

impl Real {
    /// Nothing runs yet. None where there is no program for it.
    fn new() -> Option<Self> {
        let named = std::env::var_os(PROGRAM).map(PathBuf::from);
        let Ok(program) = process::program(named, DEBIAN) else {
            return missing("docker-registry");
        };
        let folder = tempfile::tempdir().unwrap();
        Some(Self { forge: Forge::at(folder.path().join("forge")), program, folder })
    }

    async fn up(&self) -> Running {
        self.forge.up(0, Some(self.program.clone())).await.unwrap().0
    }
}

impl Drop for Real {
    fn drop(&mut self) {
        if let Ok(Some(running)) = state::running(&self.forge.dir) {
            let _ = kill_process(pid(&running), Signal::KILL);
        }
    }
}

fn missing<T>(what: &str) -> Option<T> {
    assert!(std::env::var_os("CI").is_none(), "{what} is missing");
    eprintln!("SKIPPED: {what} is missing, so nothing was tested");
    None
}

fn pid(running: &Running) -> Pid {
    Pid::from_raw(running.pid.try_into().unwrap()).unwrap()
}

fn open(running: &Running) -> Repository {
    repository(running.address, RegistryAuth::Anonymous)
}

async fn push_to(running: &Running, it: &Built) -> std::result::Result<Pushed, PushError> {
    push((&it.layout, &it.image), (&open(running), "v1"), Existing::Keep, &Quiet).await
}

async fn verify_at(running: &Running, it: &Built) -> Report {
    verify(&open(running), "v1", Some(&it.image), &Quiet).await.unwrap()
}

/// The file in which CNCF distribution keeps a blob.
fn file_of(running: &Running, digest: &crate::digest::Digest) -> PathBuf {
    let hex = digest.hex();
    running.data.join("docker/registry/v2/blobs/sha256").join(&hex[..2]).join(hex).join("data")
}

#[tokio::test]
async fn an_image_is_pushed_verified_and_still_there_after_a_restart() {
    let Some(real) = Real::new() else { return };
    let (it, running) = (built("one"), real.up().await);
    let pushed = push_to(&running, &it).await.unwrap();
    assert_eq!(pushed.uploaded, 6);
    let report = verify_at(&running, &it).await;
    assert!(report.is_right(), "{report:?}");
    assert_eq!(report.tags, ["v1"]);
    let stopped = real.forge.down(false).await.unwrap();
    assert_eq!(stopped.as_ref(), Some(&running));
    assert_eq!(started(running.pid), None);
    let again = real.up().await;
    assert!(verify_at(&again, &it).await.is_right());
    real.forge.down(true).await.unwrap();
    assert!(!real.forge.data().exists());
}

#[tokio::test]
async fn there_is_never_a_second_one() {
    let Some(real) = Real::new() else { return };
    let running = real.up().await;
    let again = real.forge.up(0, Some(real.program.clone())).await.unwrap();
    assert_eq!(again, (running.clone(), false));
    let elsewhere = real.forge.up(running.address.port() ^ 1, None).await.unwrap_err();
    assert!(elsewhere.to_string().contains("forge down"), "{elsewhere}");
    let other = Forge::at(real.folder.path().join("other"));
    let taken = other.up(running.address.port(), Some(real.program.clone())).await.unwrap_err();
    assert!(matches!(taken, ForgeError::Taken(address) if address == running.address), "{taken}");
    assert_eq!(real.forge.status().unwrap().running, Some(running.clone()));
    real.forge.down(false).await.unwrap();
    assert_eq!(real.forge.down(false).await.unwrap(), None);
    assert_eq!(real.forge.status().unwrap().running, None);
}

#[tokio::test]
async fn a_layer_that_was_tampered_with_on_the_registrys_disk_is_found() {
    let Some(real) = Real::new() else { return };
    let (it, running) = (built("one"), real.up().await);
    push_to(&running, &it).await.unwrap();
    let layer = &it.image.platforms[0].manifest.layers[0];
    let file = file_of(&running, &layer.digest);
    let mut content = fs::read(&file).unwrap();
    content[100] ^= 1;
    fs::write(&file, content).unwrap();
    let report = verify_at(&running, &it).await;
    let wrong: Vec<_> = report.parts.iter().filter(|it| it.state != State::Right).collect();
    assert!(!report.is_right());
    assert_eq!((wrong.len(), &wrong[0].digest), (1, &layer.digest));
    assert!(matches!(wrong[0].state, State::Tampered { .. }), "{:?}", wrong[0]);
}

#[tokio::test]
async fn a_registry_that_died_is_not_taken_for_a_running_one() {
    let Some(real) = Real::new() else { return };
    let (it, running) = (built("one"), real.up().await);
    kill_process(pid(&running), Signal::KILL).unwrap();
    // Once it is asked to end, it has: nothing else shows that the kernel is done with it.
    process::stop(&running).await.unwrap();
    assert_eq!(real.forge.status().unwrap().running, None);
    let error = push_to(&running, &it).await.unwrap_err().to_string();
    assert!(error.contains("Connection refused") && error.contains("forge up"), "{error}");
    let again = real.up().await;
    assert_ne!(again.pid, running.pid);
}

#[tokio::test]
async fn a_full_disk_is_a_clear_error_and_leaves_nothing_under_the_tag() {
    let Some(mut real) = Real::new() else { return };
    // Room for one of the two layers, in a file system that goes away with the registry.
    let wrapper = real.folder.path().join("on-a-small-disk");
    let flags = if rustix::process::geteuid().is_root() { "--mount" } else { "-rm" };
    let script = format!(
        "#!/bin/sh\nexec unshare {flags} sh -c 'mount -t tmpfs -o size=400k none {} && exec {} \
         \"$@\"' sh \"$@\"\n",
        real.forge.data().display(),
        real.program.display(),
    );
    fs::write(&wrapper, script).unwrap();
    fs::set_permissions(&wrapper, fs::Permissions::from_mode(0o755)).unwrap();
    let probe = format!("mount -t tmpfs none {}", real.folder.path().display());
    let may_mount = Command::new("unshare").args([flags, "sh", "-c", &probe]).status();
    if !may_mount.is_ok_and(|it| it.success()) {
        return missing("the right to mount a tmpfs").unwrap_or_default();
    }
    real.program = wrapper;
    let (it, running) = (built("one"), real.up().await);
    let error = push_to(&running, &it).await.unwrap_err();
    let text = error.to_string();
    let PushError::Registry { fault, .. } = error else { panic!("{text}") };
    assert!(matches!(fault.kind, Kind::DiskFull(_)), "{text}");
    assert!(text.contains("the tag is as it was before"), "{text}");
    assert_eq!(open(&running).manifest("v1").await.unwrap().map(|it| it.digest), None, "{NAME}");
}

#[tokio::test]
async fn a_program_that_is_missing_or_ends_at_once_says_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    let forge = Forge::at(folder.path().to_owned());
    let missing = forge.up(0, Some("/nowhere/registry".into())).await.unwrap_err().to_string();
    assert!(missing.contains("/nowhere/registry"), "{missing}");
    assert!(missing.contains("apt-get install docker-registry"), "{missing}");
    let ends = forge.up(0, Some("/bin/false".into())).await.unwrap_err().to_string();
    assert!(ends.contains("ended with exit status: 1"), "{ends}");
    assert_eq!(forge.status().unwrap().running, None);
}
