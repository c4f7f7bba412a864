//! The memory of this machine, and of the control group that we run in.

use std::{
    fs,
    path::{Path, PathBuf},
};

use sysinfo::{Pid, ProcessRefreshKind, ProcessesToUpdate, System};

use crate::size::Size;

/// Where control groups are.
const GROUPS: &str = "/sys/fs/cgroup";

/// Memory, as programs can have it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Memory {
    /// All of the machine's.
    pub total: Size,
    /// What programs can have without others being moved out.
    pub available: Size,
    /// The least limit of the control groups that we run in, our own and those above it, and what is
    /// free below it.
    pub group: Option<(Size, Size)>,
}

/// The system does not tell of itself.
#[derive(Debug, thiserror::Error)]
#[error("cannot look at this machine's memory")]
pub struct MemoryError(#[source] sysinfo::Error);

impl Memory {
    /// Looks at this machine and at our own control group.
    ///
    /// # Errors
    /// When the system does not tell of itself.
    pub fn look() -> Result<Self, MemoryError> {
        let mut system = System::new().map_err(MemoryError)?;
        system.refresh_memory();
        let ours = Pid::from_u32(std::process::id());
        let which = ProcessesToUpdate::Some(&[ours]);
        let kind = ProcessRefreshKind::nothing().without_tasks();
        system.refresh_processes_specifics(which, false, kind);
        let limits = system.process(ours).and_then(sysinfo::Process::cgroup_limits);
        let group = limits.filter(|it| it.total_memory < system.total_memory()).map(|it| {
            let (limit, free) = (Size::bytes(it.total_memory), Size::bytes(it.free_memory));
            // The group is charged for files that were read, too; those make room for programs.
            let groups = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
            let files = reclaimable(&groups, Path::new(GROUPS)).unwrap_or_default();
            (limit, (free + files).min(limit))
        });
        Ok(Self {
            total: Size::bytes(system.total_memory()),
            available: Size::bytes(system.available_memory()),
            group,
        })
    }

    /// What a build can have.
    pub fn room(&self) -> Size {
        self.group.map_or(self.available, |(_, free)| free.min(self.available))
    }
}

/// What the group holds of files that nobody has used for long. `groups` is what the system says of a
/// process's groups: a line `0::/PATH` for the second version of groups, `N:memory:/PATH` for the first.
fn reclaimable(groups: &str, root: &Path) -> Option<Size> {
    let fields = groups.lines().filter_map(|it| {
        let mut fields = it.splitn(3, ':').skip(1);
        Some((fields.next()?, fields.next()?))
    });
    let fields: Vec<_> = fields.collect();
    let memory = |it: &&(&str, &str)| it.0.split(',').any(|it| it == "memory");
    let (folder, path, key): (PathBuf, _, _) = match fields.iter().find(memory) {
        Some((_, path)) => (root.join("memory"), *path, "total_inactive_file "),
        None => (root.to_owned(), fields.iter().find(|it| it.0.is_empty())?.1, "inactive_file "),
    };
    let stat = fs::read_to_string(folder.join(path.trim_start_matches('/')).join("memory.stat"));
    let bytes = stat.ok()?.lines().find_map(|it| it.strip_prefix(key)?.trim().parse().ok());
    bytes.map(Size::bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_machine_has_memory() {
        let memory = Memory::look().unwrap();
        assert!(memory.total > Size::mebi(100) && memory.available <= memory.total, "{memory:?}");
        assert!(memory.room() <= memory.available);
    }

    #[test]
    fn a_control_group_counts_like_a_smaller_machine() {
        let memory = Memory {
            total: Size::mebi(2560),
            available: Size::mebi(2100),
            group: Some((Size::mebi(1024), Size::mebi(700))),
        };
        assert_eq!(memory.room(), Size::mebi(700));
        assert_eq!(Memory { group: None, ..memory }.room(), Size::mebi(2100));
    }

    #[test]
    fn files_that_were_read_are_no_memory_that_is_gone() {
        let root = tempfile::tempdir().unwrap();
        let write = |folder: &str, text: &str| {
            fs::create_dir_all(root.path().join(folder)).unwrap();
            fs::write(root.path().join(folder).join("memory.stat"), text).unwrap();
        };
        write("user.slice/run-1.scope", "anon 5\ninactive_file 1048576\nactive_file 7\n");
        write("memory/box", "inactive_file 7\ntotal_inactive_file 2097152\n");
        let files = |groups| reclaimable(groups, root.path());
        assert_eq!(files("0::/user.slice/run-1.scope\n"), Some(Size::mebi(1)));
        assert_eq!(files("9:pids:/\n4:cpu,memory:/box\n0::/\n"), Some(Size::mebi(2)));
        assert_eq!(files("0::/gone\n"), None);
        assert_eq!(files(""), None);
    }
}
