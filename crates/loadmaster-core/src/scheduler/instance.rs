//! Profiles as they are used: built plugins, where each keeps what outlives a cycle, and the extenders
//! that were configured beside them.
//!
//! A pod that is in flight holds the instance that it was begun with. So a configuration can be
//! replaced at any time, and whoever reserved something is asked to give it back.

use std::{
    collections::{BTreeMap, BTreeSet},
    ops::Deref,
    sync::Arc,
};

use loadmaster_framework::Slot;

use crate::{cycle::ExtenderSpec, profile::Profile};

/// Names a slot for as long as any instance has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct SlotId(u64);

/// A profile in use.
#[derive(Debug)]
pub(super) struct Instance {
    profile: Profile,
    /// Each plugin's slot, by position.
    slots: Vec<SlotId>,
    extenders: Arc<[ExtenderSpec]>,
}

impl Deref for Instance {
    type Target = Profile;

    fn deref(&self) -> &Profile {
        &self.profile
    }
}

impl Instance {
    /// A plugin that `before` had with the same arguments goes on with what it kept; every other
    /// one begins with nothing.
    pub(super) fn new(
        profile: Profile,
        extenders: Arc<[ExtenderSpec]>,
        before: Option<&Self>,
        slots: &mut SlotStore,
    ) -> Self {
        let inherited = |plugin: &'static str| {
            let before = before.filter(|it| it.args().get(plugin) == profile.args().get(plugin))?;
            let at = before.hooks().iter().position(|it| it.name == plugin)?;
            Some(before.slots[at])
        };
        let plugins = profile.hooks().iter().map(|it| it.name);
        let slots = plugins.map(|it| inherited(it).unwrap_or_else(|| slots.open())).collect();
        Self { profile, slots, extenders }
    }

    /// The extenders that are asked about the profile's pods.
    pub(super) fn extenders(&self) -> &[ExtenderSpec] {
        &self.extenders
    }

    /// The slot of the plugin at this position.
    pub(super) fn slot(&self, plugin: usize) -> SlotId {
        self.slots[plugin]
    }

    /// Every slot.
    pub(super) fn slots(&self) -> &[SlotId] {
        &self.slots
    }
}

/// What plugins keep between cycles.
#[derive(Debug, Default)]
pub(super) struct SlotStore {
    slots: BTreeMap<SlotId, Slot>,
    opened: u64,
}

impl SlotStore {
    fn open(&mut self) -> SlotId {
        self.opened += 1;
        SlotId(self.opened)
    }

    pub(super) fn get_mut(&mut self, id: SlotId) -> &mut Slot {
        self.slots.entry(id).or_default()
    }

    /// Drops every other slot.
    pub(super) fn retain(&mut self, used: &BTreeSet<SlotId>) {
        self.slots.retain(|id, _| used.contains(id));
    }
}
