//! A binary heap in which a pod can be found, changed and dropped by key.

use indexmap::IndexMap;
use loadmaster_framework::QueuedPodInfo;
use loadmaster_framework::api::ObjectKey;

/// Whether the first goes before the second.
pub(super) type Less<'a> = &'a dyn Fn(&QueuedPodInfo, &QueuedPodInfo) -> bool;

/// A binary heap of pods. It moves its items as Go's `container/heap` does, so pods of which
/// neither goes before the other come out in upstream's order.
#[derive(Clone, Debug, Default)]
pub(super) struct Heap {
    items: Vec<Item>,
    positions: IndexMap<ObjectKey, usize, foldhash::fast::FixedState>,
}

#[derive(Clone, Debug)]
struct Item {
    key: ObjectKey,
    info: Box<QueuedPodInfo>,
}

impl Heap {
    pub(super) fn len(&self) -> usize {
        self.items.len()
    }

    /// The pod that goes before all others.
    pub(super) fn peek(&self) -> Option<&QueuedPodInfo> {
        self.items.first().map(|it| &*it.info)
    }

    pub(super) fn get(&self, key: &ObjectKey) -> Option<&QueuedPodInfo> {
        self.positions.get(key).map(|at| &*self.items[*at].info)
    }

    /// Every pod, in no order that means anything.
    pub(super) fn iter(&self) -> impl Iterator<Item = &QueuedPodInfo> {
        self.items.iter().map(|it| &*it.info)
    }

    /// Takes out every pod. Pushed in this order they come to stand as they stood.
    pub(super) fn drain(&mut self) -> Vec<QueuedPodInfo> {
        self.positions.clear();
        self.items.drain(..).map(|it| *it.info).collect()
    }

    /// Adds a pod, or replaces the one of the same key.
    pub(super) fn push(&mut self, info: QueuedPodInfo, less: Less<'_>) {
        let key = info.pod.key();
        let info = Box::new(info);
        if let Some(at) = self.positions.get(&key).copied() {
            self.items[at].info = info;
            self.fix(at, less);
        } else {
            let at = self.items.len();
            self.positions.insert(key.clone(), at);
            self.items.push(Item { key, info });
            self.up(at, less);
        }
    }

    /// Takes out the pod that goes before all others.
    pub(super) fn pop(&mut self, less: Less<'_>) -> Option<QueuedPodInfo> {
        let last = self.items.len().checked_sub(1)?;
        self.swap(0, last);
        self.down(0, last, less);
        self.take_last()
    }

    /// Takes out the pod of this key.
    pub(super) fn remove(&mut self, key: &ObjectKey, less: Less<'_>) -> Option<QueuedPodInfo> {
        let at = self.positions.get(key).copied()?;
        let last = self.items.len() - 1;
        if at != last {
            self.swap(at, last);
            if !self.down(at, last, less) {
                self.up(at, less);
            }
        }
        self.take_last()
    }

    /// Changes the pod of this key, but not its key. Returns whether it is here.
    pub(super) fn update(
        &mut self,
        key: &ObjectKey,
        edit: impl FnOnce(&mut QueuedPodInfo),
        less: Less<'_>,
    ) -> bool {
        let Some(at) = self.positions.get(key).copied() else { return false };
        edit(&mut self.items[at].info);
        self.fix(at, less);
        true
    }

    fn fix(&mut self, at: usize, less: Less<'_>) {
        if !self.down(at, self.items.len(), less) {
            self.up(at, less);
        }
    }

    fn up(&mut self, mut at: usize, less: Less<'_>) {
        while at > 0 {
            let parent = (at - 1) / 2;
            if !less(&self.items[at].info, &self.items[parent].info) {
                break;
            }
            self.swap(at, parent);
            at = parent;
        }
    }

    /// Sinks the item at `from` among the first `len`. Returns whether it moved.
    fn down(&mut self, from: usize, len: usize, less: Less<'_>) -> bool {
        let mut at = from;
        loop {
            let (left, right) = (2 * at + 1, 2 * at + 2);
            if left >= len {
                break;
            }
            let before = |a: usize, b: usize| less(&self.items[a].info, &self.items[b].info);
            let child = if right < len && before(right, left) { right } else { left };
            if !before(child, at) {
                break;
            }
            self.swap(at, child);
            at = child;
        }
        at > from
    }

    fn swap(&mut self, a: usize, b: usize) {
        self.items.swap(a, b);
        for at in [a, b] {
            if let Some(position) = self.positions.get_mut(&self.items[at].key) {
                *position = at;
            }
        }
    }

    fn take_last(&mut self) -> Option<QueuedPodInfo> {
        let item = self.items.pop()?;
        self.positions.swap_remove(&item.key);
        Some(*item.info)
    }
}
