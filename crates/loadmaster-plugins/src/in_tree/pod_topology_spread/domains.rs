//! How many matching pods each domain of a constraint holds, and where the fewest are.

use std::{collections::BTreeMap, sync::Arc};

use loadmaster_framework::api::Text;

/// The count of each domain. What PreFilter counted is shared by every what-if; each keeps only
/// what it moved, so that a fork costs nothing.
#[derive(Clone, Debug)]
pub(super) struct Domains {
    counted: Arc<Counted>,
    moved: Vec<(Text, i64)>,
}

#[derive(Debug)]
struct Counted {
    counts: BTreeMap<Text, i64>,
    lowest: i64,
    at_lowest: usize,
}

impl Domains {
    /// Domains with these counts.
    pub(super) fn new(counts: BTreeMap<Text, i64>) -> Self {
        let lowest = counts.values().copied().min().unwrap_or(NO_DOMAIN);
        let at_lowest = counts.values().filter(|it| **it == lowest).count();
        Self { counted: Arc::new(Counted { counts, lowest, at_lowest }), moved: Vec::new() }
    }

    /// The count of `domain`; none of a domain that is not counted.
    pub(super) fn count(&self, domain: &str) -> i64 {
        let moved = self.moved.iter().find(|(it, _)| **it == *domain).map(|(_, count)| *count);
        moved.unwrap_or_else(|| self.counted.counts.get(domain).copied().unwrap_or(0))
    }

    /// Moves the count of `domain` by `delta`. As upstream has it, a terminating pod that leaves
    /// is taken off although it was not counted, so that a count may fall below zero.
    pub(super) fn shift(&mut self, domain: &Text, delta: i64) {
        let count = self.count(domain) + delta;
        match self.moved.iter_mut().find(|(it, _)| it == domain) {
            Some((_, moved)) => *moved = count,
            None => self.moved.push((domain.clone(), count)),
        }
    }

    /// The fewest pods of any domain; 0 where there are fewer than `min_domains` (KEP-3022).
    pub(super) fn lowest(&self, min_domains: i32) -> i64 {
        let Counted { counts, lowest, at_lowest } = &*self.counted;
        let new = self.moved.iter().filter(|(it, _)| !counts.contains_key(it)).count();
        let domains = counts.len() + new;
        if usize::try_from(min_domains).is_ok_and(|least| domains < least) {
            return 0;
        }
        let moved_from_lowest =
            self.moved.iter().filter(|(it, _)| counts.get(it) == Some(lowest)).count();
        let unmoved = if *at_lowest > moved_from_lowest {
            *lowest
        } else {
            let still = counts.iter().filter(|(it, _)| !self.moved.iter().any(|(m, _)| m == *it));
            still.map(|(_, count)| *count).min().unwrap_or(NO_DOMAIN)
        };
        self.moved.iter().map(|(_, count)| *count).fold(unmoved, i64::min)
    }

    /// Every domain with its count.
    #[cfg(test)]
    pub(super) fn all(&self) -> BTreeMap<Text, i64> {
        let mut all = self.counted.counts.clone();
        all.extend(self.moved.iter().cloned());
        all
    }
}

/// The fewest pods where there is no domain at all, which only a `minDomains` below 1 lets be
/// seen: upstream's `math.MaxInt32`.
const NO_DOMAIN: i64 = i32::MAX as i64;
