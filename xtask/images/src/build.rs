//! A release build for one platform, watched while it runs.

use std::{
    ffi::OsString,
    fs, io,
    path::{Path, PathBuf},
    time::Duration,
};

use serde_json::Value;

use crate::{
    cross::Toolchain,
    doctor::{free, size_of},
    elf::{self, ElfError},
    measure::{Ledger, LedgerError, Measurement, RunError, What, guarded, run},
    plan::{Lto, Plan, lower},
    recipe::Binary,
    signals::Stop,
    site::{self, Site},
    size::Size,
};

/// With less than that on its disk a build that failed has most likely failed for it: compilers remove
/// what they could not finish.
const FULL: Size = Size::mebi(64);

/// A finished build.
#[derive(Clone, Debug)]
pub struct Built {
    /// The binary.
    pub path: PathBuf,
    /// What it took; where there was nothing to do, what it took the last time.
    pub measurement: Option<Measurement>,
    /// Whether there was nothing to do.
    pub was_fresh: bool,
}

/// There is no binary to ship.
#[derive(Debug, thiserror::Error)]
pub enum BuildError {
    /// Cargo did not run, or was stopped.
    #[error(transparent)]
    Run(#[from] RunError),
    /// It does not compile.
    #[error(
        "{binary} does not build for {target}; cargo says above why (its processes had up to {peak} of \
         memory). Mend that and run the same command again: what is compiled already stays"
    )]
    Failed {
        /// What.
        binary: String,
        /// rustc's name of the platform.
        target: String,
        /// The most memory that all processes had together.
        peak: Size,
    },
    /// The system killed a compiler because memory was short, even with the least that one can do.
    #[error(
        "{binary} does not build for {target}: the system killed a compiler because memory was short, \
         when all of them had {peak}; stop other programs, or give the machine more than that \
         (`cargo xtask doctor` says who has how much), and run the same command again"
    )]
    Starved {
        /// What.
        binary: String,
        /// rustc's name of the platform.
        target: String,
        /// The most memory that all processes had together.
        peak: Size,
        /// Whether everything else was compiled by then.
        linking: bool,
    },
    /// There was no room on the disk.
    #[error(
        "{binary} does not build for {target}: the disk is full, {free} are left; `cargo xtask doctor` \
         says what takes how much, `cargo clean` frees the target folder. Then run the same command \
         again"
    )]
    DiskFull {
        /// What.
        binary: String,
        /// rustc's name of the platform.
        target: String,
        /// What is left of the target folder's disk.
        free: Size,
    },
    /// Cargo says nothing of the binary.
    #[error("cargo built no binary `{0}`")]
    NoBinary(String),
    /// The binary cannot be read.
    #[error("cannot read {}", .0.display())]
    Read(PathBuf, #[source] io::Error),
    /// The binary would not run in an image, or is too large.
    #[error("{} cannot be shipped: {fault}", path.display())]
    Unfit {
        /// The binary.
        path: PathBuf,
        /// Why.
        fault: ElfError,
    },
    /// What it took cannot be kept.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
}

/// Builds `binary` as `plan` has it, measures what that takes, and checks the result.
///
/// # Errors
/// When it does not build, would not run in an image, or is too large.
pub async fn build(
    site: &Site,
    binary: &Binary,
    toolchain: &Toolchain,
    plan: &Plan,
    stop: &mut Stop,
) -> Result<Built, BuildError> {
    let mut command = guarded(&site.own, site::cargo());
    command.args(arguments(binary, &plan.what)).current_dir(&site.root);
    command.envs(toolchain.environment(&site.root, &site.cargo_home));
    // The image has its time, its code has none: build scripts that ask for this variable would have most
    // of the program compiled anew for another.
    command.env_remove("SOURCE_DATE_EPOCH");
    if plan.lowered.is_some() || Some(plan.what.lto) != wanted(&site.root, &binary.profile) {
        let profile = binary.profile.to_uppercase().replace('-', "_");
        command.env(format!("CARGO_PROFILE_{profile}_LTO"), plan.what.lto.to_string());
    }
    let before = size_of(&site.target);
    let ran = run(command, stop).await?;
    if !ran.status.success() {
        let (binary, target) = (binary.name.clone(), toolchain.target.clone());
        let (peak, free) = (ran.peak, free(&site.target));
        return Err(if ran.starved {
            // The package's own library comes right before the binary.
            let library = plan.what.package.replace('-', "_");
            let linking = ran.output.lines().any(|it| is_library(it, &library));
            BuildError::Starved { binary, target, peak, linking }
        } else if free < FULL {
            BuildError::DiskFull { binary, target, free }
        } else {
            BuildError::Failed { binary, target, peak }
        });
    }
    let artifact = ran.output.lines().find_map(|it| artifact(it, &binary.name));
    let (path, was_fresh) = artifact.ok_or_else(|| BuildError::NoBinary(binary.name.clone()))?;
    let content = fs::read(&path).map_err(|it| BuildError::Read(path.clone(), it))?;
    let mut ledger = Ledger::read(&site.target)?;
    if !was_fresh {
        let after = size_of(&site.target);
        ledger.add(Measurement {
            what: plan.what.clone(),
            at: now(),
            wall_seconds: seconds(ran.wall),
            peak_memory_bytes: ran.peak,
            binary_bytes: Size::bytes(content.len() as u64),
            target_folder_bytes: after,
            target_growth_bytes: after - before,
        });
        ledger.write(&site.target)?;
    }
    // What it took is known though the binary be of no use.
    elf::check(&content, &toolchain.platform)
        .map_err(|fault| BuildError::Unfit { path: path.clone(), fault })?;
    Ok(Built { path, measurement: ledger.last(&plan.what).cloned(), was_fresh })
}

/// The same, and once more with less where the system kills a compiler because memory is short. `tell`
/// is told of it.
///
/// # Errors
/// When it does not build, would not run in an image, or is too large.
pub async fn build_with_less(
    site: &Site,
    binary: &Binary,
    toolchain: &Toolchain,
    plan: &Plan,
    stop: &mut Stop,
    tell: &mut dyn FnMut(&str),
) -> Result<Built, BuildError> {
    let mut plan = plan.clone();
    loop {
        let built = build(site, binary, toolchain, &plan, stop).await;
        let Err(BuildError::Starved { peak, linking, .. }) = &built else { return built };
        let Some(lower) = lower(&plan, *peak, *linking) else { return built };
        tell(lower.lowered.as_deref().unwrap_or_default());
        plan = lower;
    }
}

/// What cargo is called with.
pub fn arguments(binary: &Binary, what: &What) -> Vec<OsString> {
    let jobs = what.jobs.to_string();
    let mut words: Vec<OsString> = [
        "build",
        "--locked",
        "--profile",
        &binary.profile,
        "--package",
        &binary.package,
        "--bin",
        &binary.name,
        "--target",
        &what.target,
        "--jobs",
        &jobs,
        "--message-format",
        "json-render-diagnostics",
    ]
    .map(Into::into)
    .into();
    if !binary.features.is_empty() {
        words.extend(["--features".into(), binary.features.join(",").into()]);
    }
    words
}

/// The path of the binary `name` where one of cargo's messages tells of it, and whether it was there.
fn artifact(message: &str, name: &str) -> Option<(PathBuf, bool)> {
    let message: Value = serde_json::from_str(message).ok()?;
    let is_ours = message.pointer("/target/name")?.as_str()? == name;
    let path = message.get("executable")?.as_str().filter(|_| is_ours)?;
    Some((path.into(), message.get("fresh")?.as_bool()?))
}

/// Whether one of cargo's messages tells that the library `name` is compiled.
fn is_library(message: &str, name: &str) -> bool {
    let message: Value = serde_json::from_str(message).unwrap_or_default();
    let kinds = message.pointer("/target/kind").and_then(Value::as_array);
    message.pointer("/target/name").and_then(Value::as_str) == Some(name)
        && kinds.is_some_and(|it| it.iter().any(|it| it == "lib"))
}

/// How much the profile of the workspace at `root` optimises across crates.
pub fn wanted(root: &Path, profile: &str) -> Option<Lto> {
    let text = fs::read_to_string(root.join("Cargo.toml")).ok()?;
    lto_of(&toml::from_str(&text).ok()?, profile)
}

fn lto_of(manifest: &toml::Table, profile: &str) -> Option<Lto> {
    let profile = manifest.get("profile")?.get(profile)?;
    match profile.get("lto") {
        Some(toml::Value::Boolean(true)) => Some(Lto::Fat),
        Some(toml::Value::String(it)) if it == "fat" => Some(Lto::Fat),
        Some(toml::Value::String(it)) if it == "thin" => Some(Lto::Thin),
        Some(_) => Some(Lto::Off),
        None => lto_of(manifest, profile.get("inherits")?.as_str()?),
    }
}

/// The time, as RFC 3339 has it, to the second.
pub fn now() -> String {
    let now = jiff::Timestamp::now().as_second();
    jiff::Timestamp::from_second(now).map_or_else(|_| String::new(), |it| it.to_string())
}

/// To a tenth.
fn seconds(wall: Duration) -> f64 {
    (wall.as_secs_f64() * 10.0).round() / 10.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_binary_is_told_from_libraries_and_from_others() {
        let message = |name: &str, executable: &str| {
            format!(
                r#"{{"reason":"compiler-artifact","target":{{"name":"{name}"}},"fresh":false,"executable":{executable}}}"#
            )
        };
        let found = artifact(&message("scheduler", "\"/t/scheduler\""), "scheduler");
        assert_eq!(found, Some(("/t/scheduler".into(), false)));
        assert_eq!(artifact(&message("scheduler", "null"), "scheduler"), None);
        assert_eq!(artifact(&message("lab", "\"/t/lab\""), "scheduler"), None);
        assert_eq!(artifact("Compiling", "scheduler"), None);
        let library = r#"{"reason":"compiler-artifact","target":{"name":"a_b","kind":["lib"]},"executable":null}"#;
        assert!(is_library(library, "a_b") && !is_library(library, "a"));
        assert!(!is_library(&message("a_b", "\"/t/a_b\""), "a_b"));
    }

    #[test]
    fn the_profile_says_how_much_is_optimised_its_own_word_first() {
        let manifest = "[profile.release]\nlto = \"fat\"\n[profile.a]\ninherits = \"release\"\n\
                        [profile.b]\ninherits = \"a\"\nlto = \"thin\"\n[profile.c]\nlto = true\n";
        let manifest = toml::from_str(manifest).unwrap();
        let of = |profile| lto_of(&manifest, profile);
        assert_eq!(
            [of("release"), of("a"), of("b"), of("c")],
            [Some(Lto::Fat), Some(Lto::Fat), Some(Lto::Thin), Some(Lto::Fat)]
        );
        assert_eq!(of("none"), None);
    }

    #[test]
    fn what_is_shipped_is_optimised_as_a_whole_and_keeps_unwinding() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        assert_eq!(wanted(&root, "release"), Some(Lto::Fat));
        let manifest: toml::Table =
            toml::from_str(&fs::read_to_string(root.join("Cargo.toml")).unwrap()).unwrap();
        // The panic of a plugin is caught.
        assert_eq!(manifest["profile"]["release"]["panic"].as_str(), Some("unwind"));
    }
}
