//! Doing a request again after a failure that may pass.

use std::{fmt, future::Future, pin::Pin, sync::Mutex, time::Duration};

use rand::{RngExt as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;

use super::Fault;

/// How often, and how far apart.
#[derive(Clone, Copy, Debug)]
pub struct Policy {
    /// Attempts in all.
    pub attempts: u32,
    /// Before the second attempt; doubled before each further one.
    pub first: Duration,
    /// Never more than this.
    pub most: Duration,
}

impl Default for Policy {
    /// Six attempts within about ten seconds.
    fn default() -> Self {
        let first = Duration::from_millis(300);
        Self { attempts: 6, first, most: Duration::from_secs(5) }
    }
}

impl Policy {
    /// The longest wait after the given attempt, counted from one.
    fn longest(&self, attempt: u32) -> Duration {
        let factor = 2_u32.saturating_pow(attempt.saturating_sub(1));
        self.first.saturating_mul(factor).min(self.most)
    }
}

/// A wait.
pub type Wait = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Spends the time between two attempts, and tells the user why.
pub trait Patience: Send + Sync {
    /// Waits for `delay`; `fault` is what the last attempt ended with.
    fn wait(&self, delay: Duration, fault: &Fault) -> Wait;
}

/// Attempts that go on until one succeeds, fails for good, or patience ends.
pub struct Retries {
    policy: Policy,
    patience: Box<dyn Patience>,
    jitter: Mutex<ChaCha8Rng>,
}

impl fmt::Debug for Retries {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Retries").field("policy", &self.policy).finish_non_exhaustive()
    }
}

impl Retries {
    /// The waits are spread by a generator with this seed, so that a test can foretell them.
    pub fn new(policy: Policy, seed: u64, patience: Box<dyn Patience>) -> Self {
        let jitter = Mutex::new(ChaCha8Rng::seed_from_u64(seed));
        Self { policy, patience, jitter }
    }

    /// Does `attempt` until it succeeds, fails for good or has failed too often.
    ///
    /// # Errors
    /// The last attempt's.
    pub async fn run<T>(
        &self,
        mut attempt: impl AsyncFnMut() -> Result<T, Fault>,
    ) -> Result<T, Fault> {
        let mut attempts = 0;
        loop {
            attempts += 1;
            match attempt().await {
                Err(fault) if fault.kind.is_transient() && attempts < self.policy.attempts => {
                    let delay = self.delay(attempts);
                    self.patience.wait(delay, &fault).await;
                }
                outcome => return outcome,
            }
        }
    }

    /// Between half of the longest wait and all of it, so that many clients do not return at once.
    fn delay(&self, attempt: u32) -> Duration {
        let longest = self.policy.longest(attempt);
        let mut jitter = self.jitter.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        longest.mul_f64(jitter.random_range(0.5..=1.0))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::transport::Kind;

    /// Does not wait, and remembers how long it should have.
    #[derive(Clone, Default)]
    struct Recorded(Arc<Mutex<Vec<Duration>>>);

    impl Patience for Recorded {
        fn wait(&self, delay: Duration, _: &Fault) -> Wait {
            self.0.lock().unwrap().push(delay);
            Box::pin(async {})
        }
    }

    fn broken() -> Fault {
        Fault::new("try", Kind::Broken("reset".to_owned()))
    }

    async fn attempts_until(outcome: impl Fn(u32) -> Result<(), Fault>) -> (u32, Vec<Duration>) {
        let waits = Recorded::default();
        let retries = Retries::new(Policy::default(), 1, Box::new(waits.clone()));
        let mut count = 0;
        let _ = retries
            .run(async || {
                count += 1;
                outcome(count)
            })
            .await;
        let waits = waits.0.lock().unwrap().clone();
        (count, waits)
    }

    #[tokio::test]
    async fn waits_double_up_to_a_limit_and_attempts_end() {
        let (count, waits) = attempts_until(|_| Err(broken())).await;
        assert_eq!(count, 6);
        // Half a wait to a whole one, of 300 ms doubled each time and 5 s at most.
        let longest = [300, 600, 1200, 2400, 4800];
        for (wait, longest) in waits.iter().zip(longest) {
            let wait = wait.as_millis();
            assert!(wait >= longest / 2 && wait <= longest, "{wait} of {longest}");
        }
        assert_eq!(waits.len(), 5);
        assert_eq!(Policy::default().longest(9), Duration::from_secs(5));
    }

    #[tokio::test]
    async fn what_will_not_pass_is_not_tried_again() {
        let denied = || Fault::new("try", Kind::Denied(String::new()));
        assert_eq!(attempts_until(|_| Err(denied())).await.0, 1);
        let later = attempts_until(|count| if count < 3 { Err(broken()) } else { Ok(()) }).await;
        assert_eq!(later.0, 3);
    }
}
