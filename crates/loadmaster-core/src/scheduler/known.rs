//! Every pod as it was last told: upstream's informer store.

use std::{collections::BTreeMap, sync::Arc};

use loadmaster_framework::{
    PodInfo,
    api::{ObjectKey, Text},
};

/// Every unfinished pod as it was last told, by uid; a name leads to one uid at a time.
#[derive(Debug, Default)]
pub(super) struct KnownPods {
    by_uid: BTreeMap<Text, Arc<PodInfo>>,
    uid_by_key: BTreeMap<ObjectKey, Text>,
}

impl KnownPods {
    /// The pod of this uid.
    pub(super) fn get(&self, uid: &str) -> Option<&Arc<PodInfo>> {
        self.by_uid.get(uid)
    }

    /// The pod that has this name now.
    pub(super) fn by_key(&self, key: &ObjectKey) -> Option<&Arc<PodInfo>> {
        self.by_uid.get(self.uid_by_key.get(key)?)
    }

    /// Notes a pod; returns it as it was before.
    pub(super) fn insert(&mut self, pod: Arc<PodInfo>) -> Option<Arc<PodInfo>> {
        let uid = pod.uid().clone();
        self.uid_by_key.insert(pod.key(), uid.clone());
        self.by_uid.insert(uid, pod)
    }

    /// Forgets a pod; returns it as it was. A successor under its name stays.
    pub(super) fn remove(&mut self, uid: &str) -> Option<Arc<PodInfo>> {
        let pod = self.by_uid.remove(uid)?;
        let key = pod.key();
        if self.uid_by_key.get(&key).is_some_and(|it| &**it == uid) {
            self.uid_by_key.remove(&key);
        }
        Some(pod)
    }

    /// Every pod, in the order of the uids.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Arc<PodInfo>> {
        self.by_uid.values()
    }

    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.by_uid.len()
    }
}
