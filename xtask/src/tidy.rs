//! `cargo xtask tidy`: rules of the house that no other tool knows.

mod arrows;
mod pages;
mod sources;

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, ExitCode},
};

use anstream::{eprintln, println};
use anyhow::{Context as _, ensure};
use clap::Args;

use crate::cargo;

/// Check rules of the house: which crate may depend on which, sizes of files, links, the code map.
#[derive(Debug, Args)]
pub(crate) struct Tidy {}

impl Tidy {
    #[expect(clippy::unused_self, reason = "every command is run alike")]
    pub(crate) fn run(self) -> anyhow::Result<ExitCode> {
        let faults = faults(cargo::root())?;
        for fault in &faults {
            eprintln!("{fault}");
        }
        if faults.is_empty() {
            println!("The tree is tidy.");
            return Ok(ExitCode::SUCCESS);
        }
        Ok(ExitCode::from(1))
    }
}

/// Everything that is wrong, a line each.
fn faults(root: &Path) -> anyhow::Result<Vec<String>> {
    let files = tracked(root)?;
    let metadata = arrows::Metadata::read()?;
    let mut faults = metadata.faults(root)?;
    faults.extend(sources::faults(&files));
    faults.extend(pages::faults(root, &files, &metadata.package_names())?);
    Ok(faults)
}

/// A text file of the repository.
#[derive(Debug)]
struct Text {
    /// From the root.
    path: String,
    text: String,
}

impl Text {
    /// Whether its name ends so.
    fn is(&self, extension: &str) -> bool {
        Path::new(&self.path).extension().is_some_and(|it| it == extension)
    }
}

/// The text files that git tracks or would track.
fn tracked(root: &Path) -> anyhow::Result<Vec<Text>> {
    let mut git = Command::new("git");
    git.args(["ls-files", "--cached", "--others", "--exclude-standard"]).current_dir(root);
    let output = git.output().context("cannot run git")?;
    ensure!(output.status.success(), "git cannot list the files of {}", root.display());
    let names = String::from_utf8(output.stdout).context("a file's name is not UTF-8")?;
    let kinds = ["rs", "md", "toml", "yaml", "sh"];
    let wanted =
        |name: &&str| Path::new(name).extension().is_some_and(|it| kinds.iter().any(|k| it == *k));
    let read = |name: &str| {
        let file: PathBuf = root.join(name);
        // One that was removed but not yet from the index is no file of ours.
        file.exists().then(|| {
            let text = fs::read_to_string(&file).with_context(|| format!("cannot read {name}"))?;
            Ok(Text { path: name.to_owned(), text })
        })
    };
    names.lines().filter(wanted).filter_map(read).collect()
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_tree_is_tidy() {
        let faults = super::faults(crate::cargo::root()).unwrap();
        assert!(faults.is_empty(), "\n{}", faults.join("\n"));
    }
}
