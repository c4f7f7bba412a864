//! Which kinds of object a profile needs: nodes and pods always, others where a plugin reads them.
//!
//! A profile without a plugin that reads volumes needs neither to see volumes nor the permission
//! to.

use std::collections::{BTreeMap, BTreeSet};

use loadmaster_core::profile::Profile;

use crate::kind::Kind;

/// The kinds that the plugins of `profiles` read or are woken by.
pub fn kinds_of<'a>(profiles: impl IntoIterator<Item = &'a Profile>) -> BTreeSet<Kind> {
    readers_of(profiles).into_keys().collect()
}

/// The same kinds, each with the plugins that read it or are woken by it; nobody in particular
/// reads nodes and pods.
pub fn readers_of<'a>(
    profiles: impl IntoIterator<Item = &'a Profile>,
) -> BTreeMap<Kind, BTreeSet<&'static str>> {
    let mut readers = BTreeMap::from([(Kind::Node, BTreeSet::new()), (Kind::Pod, BTreeSet::new())]);
    for profile in profiles {
        for hooks in profile.hooks() {
            let extensions = hooks.enqueue_extensions.as_ref();
            let registered = extensions.map(|it| it.events_to_register()).unwrap_or_default();
            let woken = registered.iter().filter_map(|it| Kind::of(it.event.resource));
            for kind in woken.chain(hooks.reads.iter().copied()) {
                if !matches!(kind, Kind::Node | Kind::Pod) {
                    readers.entry(kind).or_default().insert(hooks.name);
                }
            }
        }
    }
    readers
}
