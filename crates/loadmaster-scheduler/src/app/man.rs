//! `man [DIR]`.

use std::{fs, path::PathBuf, process::ExitCode};

use anyhow::{Context, anyhow};

use super::print::print;

/// Prints the manual page, or writes the pages of all commands.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  scheduler man | man -l -
  scheduler man /usr/local/share/man/man1")]
pub(crate) struct Man {
    /// A folder to write the pages of all commands to
    folder: Option<PathBuf>,
}

impl Man {
    pub(super) fn run(self, command: clap::Command) -> anyhow::Result<ExitCode> {
        if let Some(folder) = self.folder {
            fs::create_dir_all(&folder)
                .and_then(|()| clap_mangen::generate_to(command, &folder))
                .with_context(|| format!("cannot write pages to {}", folder.display()))?;
        } else {
            let mut page = Vec::new();
            clap_mangen::Man::new(command).render(&mut page).map_err(|it| anyhow!(it))?;
            print(&String::from_utf8_lossy(&page))?;
        }
        Ok(ExitCode::SUCCESS)
    }
}
