//! How long a container that keeps ending waits before it is started again.
//!
//! The first time it does not wait at all, then ten seconds from its end, twice as long each time,
//! up to five minutes; one that ran for ten minutes begins anew.
//!
//! Source: `doBackOff` in `pkg/kubelet/kuberuntime` and `client-go/util/flowcontrol` 1.36.

use std::time::Duration;

use tokio::time::Instant;

/// The longest wait.
const MAX: Duration = Duration::from_mins(5);

/// The waits of one container.
#[derive(Clone, Debug)]
pub(super) struct Backoff {
    initial: Duration,
    next: Option<Duration>,
    last_start: Option<Instant>,
}

impl Backoff {
    /// Begins with waits of this length.
    pub(super) fn new(initial: Duration) -> Self {
        Self { initial, next: None, last_start: None }
    }

    /// Notes that it is being started.
    pub(super) fn started(&mut self, now: Instant) {
        self.next = self.next.map(|wait| (wait * 2).min(MAX));
        self.last_start = Some(now);
    }

    /// How long to wait from its end at `finished`; `None` means not at all.
    pub(super) fn delay(&mut self, finished: Instant) -> Option<Duration> {
        let ran = self.last_start.map(|it| finished.duration_since(it)).unwrap_or_default();
        if ran > MAX * 2 {
            self.next = None;
        }
        let delay = self.next;
        if self.next.is_none() {
            // The start that follows is the first that counts.
            self.next = Some(self.initial / 2);
        }
        delay
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_from_the_second_end_and_start_over_after_a_long_run() {
        let mut backoff = Backoff::new(Duration::from_secs(10));
        let mut now = Instant::now();
        let mut end_after = |seconds: u64| {
            backoff.started(now);
            now += Duration::from_secs(seconds);
            let delay = backoff.delay(now);
            now += delay.unwrap_or_default();
            delay.map(|it| it.as_secs())
        };
        let delays: Vec<_> = (0..8).map(|_| end_after(1)).collect();
        let expected =
            [None, Some(10), Some(20), Some(40), Some(80), Some(160), Some(300), Some(300)];
        assert_eq!(delays, expected);
        assert_eq!([end_after(601), end_after(1)], [None, Some(10)]);
    }
}
