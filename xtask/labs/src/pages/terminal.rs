//! The terminals in which a page is typed.

use std::{
    env,
    ffi::OsString,
    fs,
    io::Write as _,
    path::{Path, PathBuf},
    process::{Command as Child, Stdio},
};

use anyhow::{Context as _, bail};
use rustix::process::Signal;
use tempfile::{NamedTempFile, TempDir};
use tokio::{
    io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, Lines},
    process::{ChildStdin, ChildStdout, Command},
};

use crate::{Programs, process::Process};

/// Ends the output of each block.
const END: &str = "loadmaster-end-of-step";

/// A learner's environment, with the built programs and kubectl in PATH.
pub(super) fn environment(
    programs: &Programs,
    kubectl: Option<&Path>,
) -> anyhow::Result<Vec<(OsString, OsString)>> {
    let built = programs.lab.parent().context("a program lies in a folder")?;
    let path = env::var_os("PATH").unwrap_or_default();
    let folders = kubectl.into_iter().chain([built]).map(Path::to_owned);
    let path = env::join_paths(folders.chain(env::split_paths(&path)));
    let path = path.context("a folder in PATH has a colon in its name")?;
    // What the outer cargo told this program about itself would make a cargo in a page build anew;
    // colour and a learner's own cluster have no place in what is compared.
    let about_this_program = ["CARGO_PKG_", "CARGO_MANIFEST_", "CARGO_BIN_"];
    let ours = |name: &OsString| {
        let name = name.to_string_lossy();
        about_this_program.iter().any(|it| name.starts_with(it)) || name == "KUBECONFIG"
    };
    let inherited = env::vars_os().filter(|(name, _)| !ours(name) && name != "PATH");
    let fixed =
        [("PATH".into(), path), ("NO_COLOR".into(), "1".into()), ("LC_ALL".into(), "C".into())];
    Ok(inherited.chain(fixed).collect())
}

/// The first terminal: a shell that stays open, so that what one block exports the next one sees.
#[derive(Debug)]
pub(super) struct Shell {
    child: tokio::process::Child,
    input: Option<ChildStdin>,
    output: Lines<BufReader<ChildStdout>>,
}

impl Shell {
    pub(super) fn open(root: &Path, environment: &[(OsString, OsString)]) -> anyhow::Result<Self> {
        let mut command = Command::new("bash");
        command.args(["--noprofile", "--norc"]).current_dir(root);
        command.env_clear().envs(environment.iter().map(|(name, value)| (name, value)));
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).process_group(0).kill_on_drop(true);
        let mut child = command.spawn().context("cannot start bash")?;
        let output = child.stdout.take().context("bash has no output")?;
        let input = child.stdin.take();
        Ok(Self { child, input, output: BufReader::new(output).lines() })
    }

    /// Types a block and waits for its end: the exit code of its last command that failed, or 0, and
    /// everything that it printed.
    pub(super) async fn run(&mut self, commands: &str) -> anyhow::Result<(i32, String)> {
        let mut block = NamedTempFile::new().context("cannot write a block")?;
        block.write_all(commands.as_bytes()).context("cannot write a block")?;
        let file = block.path().display();
        let typed = format!(
            "failed=0; trap 'failed=$?' ERR; source {file} </dev/null 2>&1; trap - ERR; \
             printf '\\n{END} %s\\n' $failed\n"
        );
        let input = self.input.as_mut().context("bash has no input")?;
        input.write_all(typed.as_bytes()).await.context("cannot type")?;
        input.flush().await.context("cannot type")?;
        let mut printed = String::new();
        while let Some(line) =
            self.output.next_line().await.context("cannot read what it printed")?
        {
            if let Some(status) = line.strip_prefix(END) {
                let status = status.trim().parse().context("bash lost its exit code")?;
                return Ok((status, printed));
            }
            printed.push_str(&line);
            printed.push('\n');
        }
        bail!("the shell ended in the middle; it printed:\n{printed}")
    }

    /// Closes the terminal; what still runs in it is ended.
    pub(super) async fn close(mut self) -> anyhow::Result<()> {
        let group = self.child.id().and_then(|it| i32::try_from(it).ok());
        drop(self.input.take());
        if let Some(group) = group.and_then(rustix::process::Pid::from_raw) {
            // An interactive shell at rest does not mind; a command in the middle of its work ends.
            let _ = rustix::process::kill_process_group(group, Signal::HUP);
        }
        self.child.wait().await.context("cannot close the shell")?;
        Ok(())
    }
}

/// The second terminal, with a program that keeps running.
#[derive(Debug)]
pub(super) struct Background {
    process: Process,
    printed: PathBuf,
    _files: TempDir,
}

impl Background {
    pub(super) fn start(
        root: &Path,
        environment: &[(OsString, OsString)],
        commands: &str,
    ) -> anyhow::Result<Self> {
        let files = tempfile::Builder::new().prefix("loadmaster-terminal-").tempdir();
        let files = files.context("cannot make a folder for temporary files")?;
        let block = files.path().join("block.sh");
        // Both kinds of output go to one file, in the order in which they come.
        fs::write(&block, format!("exec 1>&2\n{commands}")).context("cannot write a block")?;
        let printed = files.path().join("printed");
        let mut command = Child::new("bash");
        command.arg("--noprofile").arg("--norc").arg(&block).current_dir(root);
        command.env_clear().envs(environment.iter().map(|(name, value)| (name, value)));
        let process = Process::start("second terminal", command, &printed)?;
        Ok(Self { process, printed, _files: files })
    }

    /// Everything that was printed so far.
    pub(super) fn output(&self) -> anyhow::Result<String> {
        fs::read_to_string(&self.printed).context("cannot read what the second terminal printed")
    }

    /// Ctrl-C.
    pub(super) fn interrupt(&mut self) -> anyhow::Result<()> {
        self.process.end(Signal::INT)
    }
}
