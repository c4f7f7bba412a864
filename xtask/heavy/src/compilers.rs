//! What compilers take beside each other, and how many of them there is room for.

use crate::size::Size;

/// What `jobs` compilers of the largest dependencies take beside each other, with cargo.
pub const fn takes(jobs: u32) -> Size {
    Size::mebi(450 * jobs as u64 + 400)
}

/// How many compilers of those wanted fit into `room`; none where not even one does.
pub fn fitting(wanted: u32, room: Size) -> Option<u32> {
    (1..=wanted).rev().find(|jobs| takes(*jobs) <= room)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn with_less_memory_fewer_compilers_run_at_once() {
        let fit = |mebi| fitting(4, Size::mebi(mebi));
        // 400 MB, and 450 MB for each.
        let expected = [Some(4), Some(4), Some(3), Some(2), Some(1), None];
        assert_eq!([9000, 2200, 2199, 1300, 850, 849].map(fit), expected);
    }
}
