//! Building the project's programs with cargo, and becoming them.

use std::{
    collections::BTreeMap,
    env,
    ffi::OsString,
    os::unix::process::CommandExt as _,
    path::{Path, PathBuf},
    process::{Command, ExitCode, Stdio},
};

use anyhow::{Context as _, bail};
use serde_json::Value;

use crate::heavy::{self, Begun, Insist};

/// The program behind the labs' commands, and those that it starts. They are always built together:
/// cargo compiles shared dependencies anew for another choice of packages.
pub(crate) const LABS: &[&str] = &["xtask-labs", "loadmaster-lab", "loadmaster-scheduler"];

/// Where this variable is set, programs are built as `cargo test --workspace` has built them already. The
/// features of a dependency are those that all packages of a build want together, so that every choice of
/// packages compiles most dependencies anew: minutes, where the tests ran right before.
const LIKE_TESTS: &str = "XTASK_LIKE_TESTS";

/// The repository's root.
pub(crate) fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask lies in the repository")
}

/// A cargo as if called from a shell, in the folder where this program was called.
///
/// What the outer cargo told this program about itself is left out: build scripts that look at it
/// would run again on every change between the two. So would those that compile C where the time of what
/// is made changes, which is nothing to programs that are run here.
pub(crate) fn command() -> Command {
    let mut cargo = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    for (name, _) in env::vars_os() {
        let text = name.to_string_lossy();
        let about_this_program = ["CARGO_PKG_", "CARGO_MANIFEST_", "CARGO_BIN_"];
        if about_this_program.iter().any(|it| text.starts_with(it)) {
            cargo.env_remove(&name);
        }
    }
    cargo.env_remove("SOURCE_DATE_EPOCH");
    cargo
}

/// Where cargo puts what it builds, as it says itself: `CARGO_TARGET_DIR`, `build.target-dir` and
/// what else it goes by. Whatever a command keeps is in there.
pub(crate) fn target() -> anyhow::Result<PathBuf> {
    target_of(command())
}

/// The same, asked of this cargo.
fn target_of(mut cargo: Command) -> anyhow::Result<PathBuf> {
    cargo.args(["metadata", "--no-deps", "--format-version", "1"]).current_dir(root());
    let output = cargo.stdin(Stdio::null()).stderr(Stdio::inherit()).output();
    let output = output.context("cannot run cargo")?;
    if !output.status.success() {
        bail!("cargo cannot read the workspace; it says above why");
    }
    let said: Value =
        serde_json::from_slice(&output.stdout).context("cannot read cargo's answer")?;
    let folder = said.get("target_directory").and_then(Value::as_str);
    folder.map(PathBuf::from).context("cargo does not say where its target folder is")
}

/// The programs that were built, by name.
#[derive(Debug)]
pub(crate) struct Built(BTreeMap<String, PathBuf>);

impl Built {
    /// Builds the binaries of `packages` together, so that what they share is compiled once. The dev
    /// profile is used: it is built in a fraction of the time, and shared with the tests.
    pub(crate) fn packages(packages: &[&str], insist: Insist) -> anyhow::Result<Self> {
        Self::packages_with(packages, &[], &heavy::before_a_dev_build(insist)?)
    }

    /// The same as it was `begun`, with more words for cargo, as `--release`.
    pub(crate) fn packages_with(
        packages: &[&str],
        more: &[&str],
        begun: &Begun,
    ) -> anyhow::Result<Self> {
        let mut cargo = command();
        let like_tests = env::var_os(LIKE_TESTS).is_some_and(|it| !it.is_empty());
        if like_tests && !more.contains(&"--release") {
            cargo.args(["build", "--workspace", "--bins", "--tests"]).args(more);
        } else {
            cargo.args(build_arguments(packages)).args(more);
        }
        if let Some(jobs) = begun.jobs {
            cargo.args(["--jobs", &jobs.to_string()]);
        }
        if let Some(lto) = &begun.lto {
            cargo.env("CARGO_PROFILE_RELEASE_LTO", lto);
        }
        cargo.arg("--message-format=json-render-diagnostics");
        cargo.current_dir(root());
        let output = cargo.stdin(Stdio::null()).stderr(Stdio::inherit()).output();
        let output = output.context("cannot run cargo")?;
        if !output.status.success() {
            bail!("{} does not build; cargo says above why", packages.join(", "));
        }
        let messages = String::from_utf8(output.stdout).context("cannot read cargo's messages")?;
        Ok(Self(messages.lines().filter_map(executable).collect()))
    }

    /// Where the program `name` is.
    pub(crate) fn program(&self, name: &str) -> anyhow::Result<&Path> {
        let found = self.0.get(name).map(PathBuf::as_path);
        found.with_context(|| format!("cargo built no program `{name}`"))
    }
}

/// What cargo is called with to build the binaries of `packages`.
pub(crate) fn build_arguments<'a>(packages: &[&'a str]) -> Vec<&'a str> {
    let each = packages.iter().flat_map(|it| ["--package", it]);
    ["build", "--bins"].into_iter().chain(each).collect()
}

/// The program of which one of cargo's messages tells. A test of a program has its name too.
fn executable(message: &str) -> Option<(String, PathBuf)> {
    let message: Value = serde_json::from_str(message).ok()?;
    if message.pointer("/profile/test").and_then(Value::as_bool) == Some(true) {
        return None;
    }
    let path = message.get("executable")?.as_str()?;
    let name = message.pointer("/target/name")?.as_str()?;
    Some((name.to_owned(), path.into()))
}

/// Becomes the program, so that signals and the terminal are its own.
pub(crate) fn become_program(
    program: &Path,
    arguments: impl IntoIterator<Item = OsString>,
) -> anyhow::Result<ExitCode> {
    let error = Command::new(program).args(arguments).exec();
    Err(error).with_context(|| format!("cannot run {}", program.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_commands_keep_is_where_cargo_says_whoever_told_it() {
        let elsewhere = env::temp_dir().join("elsewhere");
        // The variable, and the key `build.target-dir` as a variable.
        for name in ["CARGO_TARGET_DIR", "CARGO_BUILD_TARGET_DIR"] {
            let mut cargo = command();
            cargo.env_remove("CARGO_TARGET_DIR").env(name, &elsewhere);
            assert_eq!(target_of(cargo).unwrap(), elsewhere, "{name}");
        }
        let mut cargo = command();
        cargo.env_remove("CARGO_TARGET_DIR").env_remove("CARGO_BUILD_TARGET_DIR");
        cargo.env("CARGO_HOME", elsewhere.join("without-configuration"));
        assert_eq!(target_of(cargo).unwrap(), root().join("target"));
    }

    #[test]
    fn programs_are_told_from_libraries_and_from_their_tests() {
        let program = r#"{"reason":"compiler-artifact","target":{"name":"lab","kind":["bin"]},"executable":"/t/debug/lab"}"#;
        let library = r#"{"reason":"compiler-artifact","target":{"name":"lab","kind":["lib"]},"executable":null}"#;
        assert_eq!(executable(program), Some(("lab".to_owned(), "/t/debug/lab".into())));
        assert_eq!(executable(library), None);
        let test = program.replace("\"executable\"", "\"profile\":{\"test\":true},\"executable\"");
        assert_eq!(executable(&test), None);
        assert_eq!(executable("warning: not JSON"), None);
    }
}
