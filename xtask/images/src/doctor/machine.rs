//! The machine as it is now.

use std::{
    collections::BTreeSet,
    fs,
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
};

use rustix::fs::statvfs;
use sysinfo::{ProcessRefreshKind, ProcessesToUpdate, System, UpdateKind};
use xtask_heavy::memory::{Memory, MemoryError};

use crate::{
    lock::{Holder, Lock},
    size::Size,
};

/// What a machine has and what is going on there.
#[derive(Clone, Debug)]
pub struct Machine {
    /// Its memory, and that of the control group that we run in.
    pub memory: Memory,
    /// Processors.
    pub cores: u32,
    /// What is free on the disk of the target folder.
    pub disk_free: Size,
    /// The target folder.
    pub target: Folder,
    /// What cargo has downloaded.
    pub registry: Folder,
    /// The images.
    pub images: Folder,
    /// Who is at a heavy step.
    pub holder: Option<Holder>,
    /// Compilers of somebody else.
    pub others: Vec<Other>,
    /// The program with the most memory.
    pub largest: Option<Other>,
}

/// A folder and what is in it.
#[derive(Clone, Debug)]
pub struct Folder {
    /// Where.
    pub path: PathBuf,
    /// How much is in it, on disk.
    pub size: Size,
}

/// A program of somebody else.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Other {
    /// Its process.
    pub pid: u32,
    /// Its name.
    pub name: String,
    /// Its memory.
    pub memory: Size,
}

/// The system does not tell of itself.
#[derive(Debug, thiserror::Error)]
pub enum MachineError {
    /// Not of its processes.
    #[error("cannot look at this machine's processes")]
    Processes(#[source] sysinfo::Error),
    /// Not of its memory.
    #[error(transparent)]
    Memory(#[from] MemoryError),
}

impl Machine {
    /// Looks at this machine, which builds into the folder `target` and has cargo's own files in
    /// `cargo_home`.
    ///
    /// # Errors
    /// When the system does not tell of itself.
    pub fn look(target: &Path, cargo_home: &Path) -> Result<Self, MachineError> {
        let memory = Memory::look()?;
        let mut system = System::new().map_err(MachineError::Processes)?;
        let kind = ProcessRefreshKind::nothing().with_memory().without_tasks();
        let kind = kind.with_exe(UpdateKind::OnlyIfNotSet);
        system.refresh_processes_specifics(ProcessesToUpdate::All, true, kind);
        let folder = |path: PathBuf| Folder { size: size_of(&path), path };
        let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        let (others, largest) = others(&system);
        Ok(Self {
            memory,
            cores: u32::try_from(cores).unwrap_or(u32::MAX),
            disk_free: free(target),
            target: folder(target.to_owned()),
            registry: folder(cargo_home.join("registry")),
            images: folder(target.join("images")),
            holder: Lock::holder(target),
            others,
            largest,
        })
    }

    /// The memory that a build can have.
    pub fn room(&self) -> Size {
        self.memory.room()
    }
}

/// Compilers that we neither started nor were started by, and the largest program of all.
fn others(system: &System) -> (Vec<Other>, Option<Other>) {
    let mut ours = BTreeSet::new();
    let mut above = Some(sysinfo::Pid::from_u32(std::process::id()));
    while let Some(pid) = above {
        ours.insert(pid);
        above =
            system.process(pid).and_then(sysinfo::Process::parent).filter(|it| !ours.contains(it));
    }
    let mut all: Vec<Other> = system
        .processes()
        .iter()
        .filter(|(pid, _)| !ours.contains(pid))
        .map(|(pid, process)| Other {
            pid: pid.as_u32(),
            name: process.name().to_string_lossy().into_owned(),
            memory: Size::bytes(process.memory()),
        })
        .collect();
    all.sort_by_key(|it| (std::cmp::Reverse(it.memory), it.pid));
    let largest = all.first().cloned();
    all.retain(|it| matches!(it.name.as_str(), "cargo" | "rustc" | "go" | "cc1plus"));
    (all, largest)
}

/// What is free for us on the disk of the nearest folder that exists.
pub fn free(path: &Path) -> Size {
    let found = path.ancestors().find_map(|it| statvfs(it).ok());
    found.map_or_else(Size::default, |it| Size::bytes(it.f_bavail.saturating_mul(it.f_frsize)))
}

/// What the files below `path` take on disk, each counted once whatever its names.
pub fn size_of(path: &Path) -> Size {
    /// What `st_blocks` counts in, whatever the file system's own blocks are.
    const BLOCK: u64 = 512;
    let mut seen = BTreeSet::new();
    let mut open = vec![path.to_owned()];
    let mut blocks: u64 = 0;
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            // What is gone by now takes nothing.
            let Ok(about) = entry.metadata() else { continue };
            if about.is_dir() {
                open.push(entry.path());
            } else if about.nlink() == 1 || seen.insert((about.dev(), about.ino())) {
                blocks += about.blocks();
            }
        }
    }
    Size::bytes(blocks.saturating_mul(BLOCK))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_with_two_names_is_counted_once() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(size_of(dir.path()), Size::default());
        fs::create_dir(dir.path().join("a")).unwrap();
        fs::write(dir.path().join("a/one"), vec![1; 1024 * 1024]).unwrap();
        fs::hard_link(dir.path().join("a/one"), dir.path().join("two")).unwrap();
        let size = size_of(dir.path());
        assert!(size >= Size::mebi(1) && size < Size::mebi(2), "{size}");
        assert_eq!(size_of(&dir.path().join("none")), Size::default());
    }

    #[test]
    fn this_machine_has_processors_and_a_disk_and_we_are_no_competitor_of_ourselves() {
        let dir = tempfile::tempdir().unwrap();
        let machine = Machine::look(&dir.path().join("target"), dir.path()).unwrap();
        assert!(machine.cores >= 1 && machine.room() <= machine.memory.available);
        assert!(machine.disk_free > Size::default());
        assert!(machine.others.iter().all(|it| it.pid != std::process::id()));
    }
}
