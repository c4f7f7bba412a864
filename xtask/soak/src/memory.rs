//! The memory of another process.

use std::fs;

use anyhow::Context as _;

/// What a process uses, in KiB.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Memory {
    /// Resident now.
    pub(crate) resident: u64,
    /// The most that was resident at a time.
    pub(crate) peak: u64,
}

impl Memory {
    /// That of the process `pid`.
    pub(crate) fn of(pid: u32) -> anyhow::Result<Self> {
        let path = format!("/proc/{pid}/status");
        let status = fs::read_to_string(&path).with_context(|| {
            format!("cannot read {path}: the scheduler has ended, or this is no Linux")
        })?;
        let field = |name: &str| {
            let line = status.lines().find_map(|it| it.strip_prefix(name));
            let amount = line.and_then(|it| it.split_whitespace().next()?.parse().ok());
            amount.with_context(|| format!("{path} has no {name}"))
        };
        Ok(Self { resident: field("VmRSS:")?, peak: field("VmHWM:")? })
    }
}
