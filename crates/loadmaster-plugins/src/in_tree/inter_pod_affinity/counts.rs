//! Sums by topology: by label of nodes, then by its value.

use std::{collections::BTreeMap, sync::Arc};

use loadmaster_framework::api::{Labels, Text};

/// A sum for each value of each topology key.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct ByTopology(Vec<(Text, BTreeMap<Text, i64>)>);

impl ByTopology {
    /// Adds to the sum of the domain that a node with `labels` has under `key`, if it has one.
    pub(super) fn add(&mut self, key: &Text, labels: &Labels, amount: i64) {
        let Some(value) = labels.get(key) else { return };
        let at = self.0.iter().position(|(it, _)| it == key).unwrap_or_else(|| {
            self.0.push((key.clone(), BTreeMap::new()));
            self.0.len() - 1
        });
        let sums = &mut self.0[at].1;
        match sums.get_mut(value) {
            Some(sum) => *sum = sum.saturating_add(amount),
            None => _ = sums.insert(value.clone(), amount),
        }
    }

    /// The sum of one domain; 0 where there is none.
    fn get(&self, key: &str, value: &str) -> i64 {
        let sums = self.0.iter().find(|(it, _)| **it == *key).map(|(_, sums)| sums);
        sums.and_then(|it| it.get(value)).copied().unwrap_or(0)
    }

    /// The sums of all domains of a node with `labels`, together.
    pub(super) fn total(&self, labels: &Labels) -> i64 {
        let sums = self.0.iter().filter_map(|(key, sums)| sums.get(labels.get(key)?));
        sums.fold(0, |total: i64, sum| total.saturating_add(*sum))
    }

    /// Whether no domain has a sum.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// Counts of pods by topology that what-ifs move. What PreFilter counted is shared by all of them;
/// each keeps only what it moved, so that a fork costs nothing.
#[derive(Clone, Debug, Default)]
pub(super) struct Counts {
    counted: Arc<ByTopology>,
    moved: Vec<Moved>,
    /// How many domains do not count zero.
    domains: usize,
}

#[derive(Clone, Debug)]
struct Moved {
    key: Text,
    value: Text,
    count: i64,
}

impl Counts {
    /// These counts, nothing moved yet.
    pub(super) fn new(counted: ByTopology) -> Self {
        let domains = counted.0.iter().flat_map(|(_, sums)| sums.values());
        let domains = domains.filter(|it| **it != 0).count();
        Self { counted: Arc::new(counted), moved: Vec::new(), domains }
    }

    /// The count of one domain.
    pub(super) fn get(&self, key: &str, value: &str) -> i64 {
        let moved = self.moved.iter().find(|it| *it.key == *key && *it.value == *value);
        moved.map_or_else(|| self.counted.get(key, value), |it| it.count)
    }

    /// Moves the count of the domain that a node with `labels` has under `key`, if it has one.
    pub(super) fn shift(&mut self, key: &Text, labels: &Labels, delta: i64) {
        let Some(value) = labels.get(key) else { return };
        let before = self.get(key, value);
        let count = before + delta;
        match self.moved.iter_mut().find(|it| it.key == *key && it.value == *value) {
            Some(moved) => moved.count = count,
            None => self.moved.push(Moved { key: key.clone(), value: value.clone(), count }),
        }
        self.domains = self.domains - usize::from(before != 0) + usize::from(count != 0);
    }

    /// Whether every domain counts zero.
    pub(super) fn is_empty(&self) -> bool {
        self.domains == 0
    }

    /// Whether a node with `labels` is in a domain that counts any.
    pub(super) fn any_at(&self, labels: &Labels) -> bool {
        let counted = self.counted.0.iter().map(|(key, _)| key);
        let mut keys = counted.chain(self.moved.iter().map(|it| &it.key));
        !self.is_empty()
            && keys.any(|key| labels.get(key).is_some_and(|value| self.get(key, value) > 0))
    }

    /// Every domain that does not count zero.
    #[cfg(test)]
    pub(super) fn all(&self) -> BTreeMap<(Text, Text), i64> {
        let counted = self.counted.0.iter().flat_map(|(key, sums)| {
            sums.iter().map(|(value, count)| ((key.clone(), value.clone()), *count))
        });
        let moved = self.moved.iter().map(|it| ((it.key.clone(), it.value.clone()), it.count));
        let mut all: BTreeMap<_, _> = counted.chain(moved).collect();
        all.retain(|_, count| *count != 0);
        all
    }
}
