//! How a container's process is set apart from the lab's machine.
//!
//! With `bwrap` (bubblewrap) the process sees the image as its root, the pod's volumes at their
//! paths, no process but its own, and is the user that it should be; it needs no rights for that,
//! only a kernel that lets users make namespaces. Where that cannot be had, the program is run as
//! it is: from the unpacked image, with the paths of volumes in its arguments and environment
//! replaced by where they really are. In both cases it shares the machine's network.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Component, Path, PathBuf};
use std::process::Stdio;

use tokio::process::Command;

use super::environment::Environment;
use super::unpack::resolve;
use super::user::User;
use super::volumes::Mount;

/// How containers are set apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Isolation {
    /// In namespaces of their own, by `bwrap`.
    Bwrap,
    /// As plain processes with paths rewritten.
    Process,
}

impl Isolation {
    /// `bwrap` where it works, else plain processes.
    pub fn best() -> Self {
        let works = find_bwrap().is_some_and(|bwrap| {
            let mut command = std::process::Command::new(bwrap);
            command.args(NAMESPACES).args(["--uid", "65532", "--gid", "65532"]);
            command.args(["--ro-bind", "/", "/", "--proc", "/proc", "--dev", "/dev", "true"]);
            command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
            command.status().is_ok_and(|it| it.success())
        });
        if works { Self::Bwrap } else { Self::Process }
    }

    /// The scheme of container IDs: `bwrap://…`, `process://…`.
    pub(super) fn scheme(self) -> &'static str {
        match self {
            Self::Bwrap => "bwrap",
            Self::Process => "process",
        }
    }
}

/// The process is the first of its namespace, so that it gets signals as in a real container, and
/// dies with `bwrap`, which dies with the lab.
const NAMESPACES: [&str; 9] = [
    "--unshare-user",
    "--unshare-pid",
    "--unshare-ipc",
    "--unshare-uts",
    "--as-pid-1",
    "--die-with-parent",
    "--new-session",
    "--cap-drop",
    "ALL",
];

fn find_bwrap() -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|it| it.join("bwrap")).find(|it| is_program(it))
}

/// Everything that a container's process is started with.
#[derive(Debug)]
pub(super) struct Start {
    /// The program and its arguments.
    pub(super) words: Vec<String>,
    pub(super) environment: Environment,
    pub(super) mounts: Vec<Mount>,
    /// The container's root: a copy of its own under [`Isolation::Bwrap`].
    pub(super) root: PathBuf,
    pub(super) working_dir: PathBuf,
    pub(super) user: User,
    pub(super) read_only_root: bool,
    pub(super) hostname: String,
    /// A kubeconfig for the pod's service account, for programs that cannot find the account where
    /// it should be.
    pub(super) kubeconfig: Option<PathBuf>,
    /// The program that ties a process to the lab's life, if there is one.
    pub(super) guard: Option<PathBuf>,
}

impl Start {
    /// The command that starts the process.
    ///
    /// # Errors
    /// A program that is not there, in a runtime's words.
    pub(super) fn command(&self, isolation: Isolation) -> Result<Command, String> {
        let (name, arguments) = self.words.split_first().ok_or("no command specified")?;
        let program = self.find(name)?;
        let mut line: Vec<std::ffi::OsString> = Vec::new();
        let mut command = match isolation {
            Isolation::Bwrap => {
                line.push(find_bwrap().ok_or("bwrap is gone from PATH")?.into());
                line.extend(self.bwrap_arguments());
                line.extend(["--".into(), program.inside.into()]);
                line.extend(arguments.iter().map(Into::into));
                let mut command = self.guarded(line);
                self.environment.iter().for_each(|(name, value)| {
                    command.env(name, value);
                });
                command
            }
            Isolation::Process => {
                line.push(program.real.into());
                line.extend(arguments.iter().map(|it| self.rewritten(it).into()));
                let mut command = self.guarded(line);
                for (name, value) in self.environment.iter() {
                    command.env(name, self.rewritten(value));
                }
                if let Some(file) = self
                    .kubeconfig
                    .as_ref()
                    .filter(|_| self.environment.get("KUBECONFIG").is_none())
                {
                    command.env("KUBECONFIG", file);
                }
                let folder = self.real(&self.working_dir)?;
                command.current_dir(if folder.is_dir() { &folder } else { &self.root });
                if self.user.can_be_taken(&self.root, self.guard.as_deref()) {
                    command.uid(self.user.uid).gid(self.user.gid);
                }
                command
            }
        };
        // A group of its own: Ctrl-C at the lab's terminal is not the container's.
        command.process_group(0).kill_on_drop(true);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        Ok(command)
    }

    /// A command without an environment, tied to the lab's life where that is possible.
    fn guarded(&self, line: Vec<std::ffi::OsString>) -> Command {
        let mut words = line.into_iter();
        let mut command = match &self.guard {
            Some(guard) => {
                let mut command = Command::new(guard);
                command.arg("guard").arg("--parent").arg(std::process::id().to_string()).arg("--");
                command
            }
            None => Command::new(words.next().unwrap_or_default()),
        };
        command.args(words).env_clear();
        command
    }

    fn bwrap_arguments(&self) -> Vec<std::ffi::OsString> {
        let mut line: Vec<std::ffi::OsString> = NAMESPACES.map(Into::into).into();
        let mut add = |words: &[&std::ffi::OsStr]| line.extend(words.iter().map(Into::into));
        let (uid, gid) = (self.user.uid.to_string(), self.user.gid.to_string());
        add(&["--uid".as_ref(), uid.as_ref(), "--gid".as_ref(), gid.as_ref()]);
        add(&["--hostname".as_ref(), self.hostname.as_ref()]);
        add(&["--bind".as_ref(), self.root.as_ref(), "/".as_ref()]);
        add(&["--proc".as_ref(), "/proc".as_ref(), "--dev".as_ref(), "/dev".as_ref()]);
        for file in ["/etc/resolv.conf", "/etc/hosts"] {
            add(&["--ro-bind-try".as_ref(), file.as_ref(), file.as_ref()]);
        }
        for mount in &self.mounts {
            let how = if mount.read_only { "--ro-bind" } else { "--bind" };
            add(&[how.as_ref(), mount.host.as_ref(), mount.path.as_ref()]);
        }
        add(&["--chdir".as_ref(), self.working_dir.as_ref()]);
        if self.read_only_root {
            add(&["--remount-ro".as_ref(), "/".as_ref()]);
        }
        line
    }

    /// Where a path of the container is on the machine.
    fn real(&self, path: &Path) -> Result<PathBuf, String> {
        let mount = self.mounts.iter().rev().find(|it| path.starts_with(&it.path));
        match mount {
            Some(mount) => Ok(match path.strip_prefix(&mount.path) {
                Ok(rest) if !rest.as_os_str().is_empty() => mount.host.join(rest),
                _ => mount.host.clone(),
            }),
            None => resolve(&self.root, path).map_err(|error| error.to_string()),
        }
    }

    /// Finds the program as the container would.
    fn find(&self, name: &str) -> Result<Program, String> {
        let at = |inside: PathBuf| -> Result<Option<Program>, String> {
            let real = self.real(&inside)?;
            Ok(is_program(&real).then_some(Program { inside, real }))
        };
        if name.contains('/') {
            let inside = normal(&self.working_dir.join(name));
            let missing = if self.real(&inside)?.exists() {
                format!("exec: {name:?}: permission denied")
            } else {
                format!("exec: {name:?}: stat {name}: no such file or directory")
            };
            return at(inside)?.ok_or(missing);
        }
        let path = self.environment.get("PATH").unwrap_or_default();
        for folder in path.split(':').filter(|it| !it.is_empty()) {
            if let Some(found) = at(Path::new(folder).join(name))? {
                return Ok(found);
            }
        }
        Err(format!("exec: {name:?}: executable file not found in $PATH"))
    }

    /// The text with every path of a volume replaced by where the volume really is.
    fn rewritten(&self, text: &str) -> String {
        let mut text = text.to_owned();
        // Inner mounts first: their paths begin with those of outer ones.
        for mount in self.mounts.iter().rev() {
            let (Some(path), Some(host)) = (mount.path.to_str(), mount.host.to_str()) else {
                continue;
            };
            text = replace_path(&text, path, host);
        }
        text
    }
}

#[derive(Debug, PartialEq, Eq)]
struct Program {
    /// Its path for the container.
    inside: PathBuf,
    /// Its path on the machine.
    real: PathBuf,
}

fn is_program(file: &Path) -> bool {
    fs::metadata(file).is_ok_and(|it| it.is_file() && it.permissions().mode() & 0o111 != 0)
}

/// The path without `.` and `..`.
fn normal(path: &Path) -> PathBuf {
    let mut clean = PathBuf::new();
    for component in path.components() {
        match component {
            Component::ParentDir => {
                clean.pop();
            }
            Component::CurDir => {}
            other => clean.push(other),
        }
    }
    clean
}

/// Replaces `path` where it stands as a path or as the beginning of one.
fn replace_path(text: &str, path: &str, host: &str) -> String {
    let mut replaced = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(path) {
        let (before, after) = (&rest[..at], &rest[at + path.len()..]);
        let begins = before.chars().next_back().or_else(|| replaced.chars().next_back());
        let begins = begins.is_none_or(|it| "=:,;'\" ".contains(it));
        let ends = after.chars().next().is_none_or(|it| "/:,;'\" ".contains(it));
        replaced.push_str(before);
        replaced.push_str(if begins && ends { host } else { path });
        rest = after;
    }
    replaced + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    fn start(root: &Path) -> Start {
        let mut environment = Environment::default();
        environment.set("PATH", "/none:/bin");
        environment.set("CONFIG", "/etc/app/config.yaml");
        let mount = |host: &str, path: &str| Mount {
            host: host.into(),
            path: path.into(),
            read_only: true,
        };
        Start {
            words: vec!["app".into(), "--config=/etc/app/config.yaml".into(), "/etc/apple".into()],
            environment,
            mounts: vec![mount("/v/outer", "/etc/app"), mount("/v/inner", "/etc/app/in")],
            root: root.to_owned(),
            working_dir: "/".into(),
            user: User { uid: 65532, gid: 65532 },
            read_only_root: true,
            hostname: "p".into(),
            kubeconfig: Some("/v/kubeconfig".into()),
            guard: None,
        }
    }

    fn image() -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir(root.path().join("bin")).unwrap();
        for (file, mode) in [("bin/app", 0o755), ("bin/data", 0o644)] {
            fs::write(root.path().join(file), "").unwrap();
            fs::set_permissions(root.path().join(file), fs::Permissions::from_mode(mode)).unwrap();
        }
        root
    }

    #[test]
    fn a_plain_process_gets_the_real_paths_of_its_volumes() {
        let root = image();
        let command = start(root.path()).command(Isolation::Process).unwrap();
        let command = command.as_std();
        assert_eq!(command.get_program(), root.path().join("bin/app"));
        let arguments: Vec<_> = command.get_args().collect();
        assert_eq!(arguments, ["--config=/v/outer/config.yaml", "/etc/apple"]);
        let environment: Vec<_> =
            command.get_envs().map(|(name, value)| (name, value.unwrap())).collect();
        assert!(environment.contains(&("CONFIG".as_ref(), "/v/outer/config.yaml".as_ref())));
        assert!(environment.contains(&("KUBECONFIG".as_ref(), "/v/kubeconfig".as_ref())));
    }

    #[test]
    fn paths_are_replaced_where_they_are_whole() {
        for (text, expected) in [
            ("/a", "/h"),
            ("/a/b", "/h/b"),
            ("--x=/a:/a/b", "--x=/h:/h/b"),
            ("/b/a", "/b/a"),
            ("/ab", "/ab"),
        ] {
            assert_eq!(replace_path(text, "/a", "/h"), expected);
        }
        let start = start(Path::new("/"));
        assert_eq!(start.rewritten("/etc/app/in/x"), "/v/inner/x");
    }

    #[test]
    fn a_program_that_is_missing_is_named_as_runtimes_do() {
        let root = image();
        let refuse = |name: &str| start(root.path()).find(name).unwrap_err();
        assert_eq!(refuse("nope"), "exec: \"nope\": executable file not found in $PATH");
        assert_eq!(refuse("/nope"), "exec: \"/nope\": stat /nope: no such file or directory");
        assert_eq!(refuse("/bin/data"), "exec: \"/bin/data\": permission denied");
        let found = start(root.path()).find("./bin/../bin/app").unwrap();
        assert_eq!(found.inside, Path::new("/bin/app"));
    }
}
