//! Answers that are remembered for a while.

use std::{
    collections::HashMap,
    hash::Hash,
    sync::{Mutex, PoisonError},
    time::Duration,
};

use tokio::time::Instant;

/// So many answers are remembered at most (upstream: 8192).
const MOST: usize = 8192;

/// Answers that are remembered for a while.
#[derive(Debug)]
pub(super) struct Remembered<K, V>(Mutex<HashMap<K, (Instant, V)>>);

impl<K: Eq + Hash, V: Clone> Remembered<K, V> {
    pub(super) fn new() -> Self {
        Self(Mutex::new(HashMap::new()))
    }

    /// The answer, if it is not too old.
    pub(super) fn get(&self, key: &K) -> Option<V> {
        let answers = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (until, answer) = answers.get(key)?;
        (Instant::now() < *until).then(|| answer.clone())
    }

    /// Remembers an answer for this long.
    pub(super) fn put(&self, key: K, answer: V, lasting: Duration) {
        let now = Instant::now();
        let mut answers = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if answers.len() >= MOST {
            answers.retain(|_, (until, _)| now < *until);
        }
        // Whoever floods it with questions makes it ask again, and no more than that.
        if answers.len() >= MOST {
            answers.clear();
        }
        answers.insert(key, (now + lasting, answer));
    }
}
