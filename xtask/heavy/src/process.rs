//! Which process is meant by a number, which the kernel gives to another one later.

use std::fs;

/// When the process was started, if it runs, in the kernel's ticks since boot: the 22nd field of its
/// `stat`, see proc(5). `None` for one that does not run, and for one that ended and that nobody has asked
/// about yet.
pub fn started(pid: u32) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The program's name, in brackets, may have blanks and brackets itself.
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    // One that ended, and that nobody has asked about yet, is a zombie.
    if fields.first() == Some(&"Z") {
        return None;
    }
    fields.get(19)?.parse().ok()
}
