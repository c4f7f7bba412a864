//! Pauses between tries.

use std::time::Duration;

/// Pauses that double up to a limit.
#[derive(Clone, Debug)]
pub(crate) struct Backoff {
    first: Duration,
    longest: Duration,
    faults: u32,
}

impl Backoff {
    pub(crate) fn new(first: Duration, longest: Duration) -> Self {
        Self { first, longest, faults: 0 }
    }

    /// How many faults there have been in a row.
    pub(crate) fn faults(&self) -> u32 {
        self.faults
    }

    /// Notes a fault; how long to pause.
    pub(crate) fn fault(&mut self) -> Duration {
        let pause = self.first.saturating_mul(2u32.saturating_pow(self.faults));
        self.faults = self.faults.saturating_add(1);
        pause.min(self.longest)
    }

    /// Notes that all is well again; how many faults there were.
    pub(crate) fn well(&mut self) -> u32 {
        std::mem::take(&mut self.faults)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_up_to_the_limit_and_begin_anew_when_all_is_well() {
        let second = Duration::from_secs(1);
        let mut backoff = Backoff::new(second, 5 * second);
        let pauses: Vec<_> = (0..5).map(|_| backoff.fault().as_secs()).collect();
        assert_eq!(pauses, [1, 2, 4, 5, 5]);
        assert_eq!(backoff.well(), 5);
        assert_eq!(backoff.fault(), second);
    }
}
