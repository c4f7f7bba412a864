//! What comes before cargo: whether its compilers have room, and for a heavy step the doctor's checks and
//! the lock.

use std::{
    env,
    ffi::OsString,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use anstream::eprintln;
use anyhow::{Context as _, bail};
use serde_json::Value;
use xtask_heavy::{
    compilers::{fitting, takes},
    lock::Lock,
    memory::Memory,
    size::Size,
};

use crate::cargo::{self, Built};

/// Whether a command goes on where there is not enough of something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Insist {
    /// It gives memory back, or says what there is too little of.
    Always,
    /// Where `--force` says so.
    Forced(bool),
}

/// How cargo is to build. While it does, nobody else begins a heavy step, where this is one.
#[derive(Debug, Default)]
pub(crate) struct Begun {
    /// How many compilers at once, where it is fewer than cargo would take.
    pub(crate) jobs: Option<u32>,
    /// How much a release build is optimised across crates, where it is less than its profile says.
    pub(crate) lto: Option<String>,
    _lock: Option<Lock>,
}

/// A step for which the doctor's checks are made in full.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Step<'a> {
    /// Its word.
    pub(crate) name: &'a str,
    /// The program that is built for it.
    pub(crate) program: &'a str,
    /// Cargo's profile.
    pub(crate) profile: &'a str,
    /// The registry that it needs.
    pub(crate) registry: Option<&'a str>,
    /// The kubeconfig of the cluster that it needs.
    pub(crate) kubeconfig: Option<&'a Path>,
    /// Whether it begins though a check fails.
    pub(crate) force: bool,
}

/// What a build of the dev profile finds.
#[derive(Debug, PartialEq, Eq)]
enum Room {
    /// All that cargo would start.
    Enough,
    /// For so many compilers.
    Fewer(u32),
    /// Not for one.
    None,
}

/// Looks before a build of the dev profile: quietly where there is room for it. With less memory it is a
/// heavy step, takes fewer compilers, and says so.
pub(crate) fn before_a_dev_build(insist: Insist) -> anyhow::Result<Begun> {
    // Where a machine does not tell of itself, cargo does as it always does.
    let Ok(memory) = Memory::look() else { return Ok(Begun::default()) };
    let (wanted, room) = (wanted(), memory.room());
    let jobs = match look(wanted, room) {
        Room::Enough => return Ok(Begun::default()),
        Room::Fewer(jobs) => jobs,
        Room::None if insist == Insist::Forced(false) => bail!(
            "not begun: there is {room} of memory, and one compiler takes {}; `cargo xtask doctor` \
             says more, and --force goes on all the same",
            takes(1)
        ),
        Room::None => 1,
    };
    eprintln!(
        "doctor: there is {room} of memory, and {wanted} compilers at once take {}: building with \
         {jobs} at once",
        takes(wanted)
    );
    let lock = Lock::take(&cargo::target()?, &command());
    let lock = if insist == Insist::Always { lock.ok() } else { Some(lock?) };
    Ok(Begun { jobs: Some(jobs), lto: None, _lock: lock })
}

/// Has the doctor look before a heavy step, and takes the lock. Gives the doctor's program as well.
///
/// # Errors
/// When a check fails and the step is not forced; the doctor has said then which.
pub(crate) fn before(step: Step<'_>) -> anyhow::Result<(Begun, PathBuf)> {
    let built = Built::packages(&["xtask-images"], Insist::Forced(step.force))?;
    let program = built.program("xtask-images")?.to_owned();
    let mut doctor = Command::new(&program);
    doctor.arg("--root").arg(cargo::root()).args(["begin", "--step", step.name]);
    doctor.args(["--program", step.program, "--profile", step.profile]);
    if let Some(registry) = step.registry {
        doctor.args(["--registry", registry]);
    }
    if let Some(kubeconfig) = step.kubeconfig {
        doctor.arg("--cluster").env("KUBECONFIG", kubeconfig);
    }
    if step.force {
        doctor.arg("--force");
    }
    let output = doctor.stdin(Stdio::null()).stderr(Stdio::inherit()).output();
    let output = output.context("cannot run the program behind `cargo xtask doctor`")?;
    if !output.status.success() {
        bail!("{} has not begun", command());
    }
    let said: Value =
        serde_json::from_slice(&output.stdout).context("cannot read the doctor's answer")?;
    let lock = Lock::take(&cargo::target()?, &command())?;
    let begun = Begun {
        jobs: said["jobs"].as_u64().and_then(|it| it.try_into().ok()),
        lto: said["lto"].as_str().map(str::to_owned),
        _lock: Some(lock),
    };
    Ok((begun, program))
}

/// How many compilers cargo would start at once.
fn wanted() -> u32 {
    let said = env::var("CARGO_BUILD_JOBS").ok().and_then(|it| it.parse().ok());
    let cores = || std::thread::available_parallelism().ok()?.get().try_into().ok();
    said.filter(|it| *it > 0).or_else(cores).unwrap_or(1)
}

fn look(wanted: u32, room: Size) -> Room {
    match fitting(wanted, room) {
        Some(jobs) if jobs == wanted => Room::Enough,
        Some(jobs) => Room::Fewer(jobs),
        None => Room::None,
    }
}

/// What was typed, for whoever finds the lock taken.
fn command() -> String {
    let words: Vec<OsString> = env::args_os().skip(1).collect();
    let words = words.iter().map(|it| it.to_string_lossy());
    std::iter::once("cargo xtask".into()).chain(words).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_build_with_room_for_all_compilers_goes_on_as_ever_and_others_take_fewer() {
        // 400 MB, and 450 MB for each compiler.
        assert_eq!(look(2, Size::mebi(1300)), Room::Enough);
        assert_eq!(look(2, Size::mebi(1299)), Room::Fewer(1));
        assert_eq!(look(2, Size::mebi(849)), Room::None);
    }
}
