//! A profile: the plugins that a schedulerName stands for, built once, and the only loops over
//! them. Every call is guarded: a plugin that panics fails the pod and not the scheduler.

mod build;
mod effective;
mod guard;
mod place;
mod run;
mod score;

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use loadmaster_framework::{
    Bind, Feed, Filter, Hooks, Permit, Point, PostBind, PostFilter, PreBind, PreEnqueue, PreFilter,
    PreScore, QueueSort, Reserve, Score, Status, api::Text,
};

use crate::meter::{Meter, Watch};

pub use build::{PluginRef, ProfileError, ProfileSpec};
pub use guard::panic_message;
pub use run::{Handles, NoNominations, NominatedPods, PreFilterVerdict, Slots};
pub use score::NodePluginScores;

/// A set of a profile's plugins, by their position in it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PluginSet(u128);

impl PluginSet {
    /// The most plugins that a profile can have.
    pub const CAPACITY: usize = 128;

    /// Adds a plugin.
    pub fn insert(&mut self, plugin: usize) {
        self.0 |= 1 << plugin;
    }

    /// Whether the plugin is in the set.
    pub fn contains(self, plugin: usize) -> bool {
        self.0 & (1 << plugin) != 0
    }
}

/// A plugin at one of its points.
struct At<T: ?Sized> {
    /// Its position among the profile's plugins.
    plugin: usize,
    name: &'static str,
    hook: Arc<T>,
}

/// A score plugin, with the weight that its points are multiplied by.
struct Weighted {
    at: At<dyn Score>,
    weight: i64,
}

/// The plugins that a schedulerName stands for, in running order at each point.
pub struct Profile {
    scheduler_name: Text,
    percentage_of_nodes_to_score: Option<u32>,
    hooks: Vec<Hooks>,
    args: BTreeMap<String, serde_json::Value>,
    pre_enqueue: Vec<At<dyn PreEnqueue>>,
    queue_sort: At<dyn QueueSort>,
    pre_filter: Vec<At<dyn PreFilter>>,
    filter: Vec<At<dyn Filter>>,
    post_filter: Vec<At<dyn PostFilter>>,
    pre_score: Vec<At<dyn PreScore>>,
    score: Vec<Weighted>,
    reserve: Vec<At<dyn Reserve>>,
    permit: Vec<At<dyn Permit>>,
    pre_bind: Vec<At<dyn PreBind>>,
    bind: Vec<At<dyn Bind>>,
    post_bind: Vec<At<dyn PostBind>>,
    watch: Watch,
}

impl std::fmt::Debug for Profile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Profile({} with {:?})", self.scheduler_name, self.hooks)
    }
}

impl Profile {
    /// Lets `meter` watch the plugins, each of which may take `budget` in a cycle, if there is one.
    pub fn watch_by(&mut self, meter: Arc<dyn Meter>, budget: Option<Duration>) {
        self.watch = Watch::new(meter, budget, self.hooks.len());
    }

    pub(crate) fn watch(&self) -> &Watch {
        &self.watch
    }

    /// A scheduling cycle is over.
    pub(crate) fn end_cycle(&self) {
        self.watch.end_cycle(&self.scheduler_name, |at| self.hooks[at].name);
    }

    /// The error of a plugin that has used up its time budget in this cycle.
    pub(crate) fn over_budget(&self) -> Option<Status> {
        let (plugin, error) = self.watch.over_budget(|at| self.hooks[at].name)?;
        Some(Status::from(error).with_plugin(plugin))
    }

    /// The schedulerName that pods ask for.
    pub fn scheduler_name(&self) -> &Text {
        &self.scheduler_name
    }

    /// The profile's own percentageOfNodesToScore, 0..=100; 0 is adaptive.
    pub fn percentage_of_nodes_to_score(&self) -> Option<u32> {
        self.percentage_of_nodes_to_score
    }

    /// Every plugin that takes part at some point, by position.
    pub fn hooks(&self) -> &[Hooks] {
        &self.hooks
    }

    /// Facts from elsewhere that the plugins read.
    pub fn feeds(&self) -> impl Iterator<Item = &Feed> {
        self.hooks.iter().flat_map(|it| &it.feeds)
    }

    /// Each configured plugin's arguments, defaults filled in.
    pub fn args(&self) -> &BTreeMap<String, serde_json::Value> {
        &self.args
    }

    /// Names of the plugins at `point`, in running order.
    pub fn plugins_at(&self, point: Point) -> Vec<&'static str> {
        fn names<T: ?Sized>(list: &[At<T>]) -> Vec<&'static str> {
            list.iter().map(|it| it.name).collect()
        }
        match point {
            Point::PreEnqueue => names(&self.pre_enqueue),
            Point::QueueSort => vec![self.queue_sort.name],
            Point::PreFilter => names(&self.pre_filter),
            Point::Filter => names(&self.filter),
            Point::PostFilter => names(&self.post_filter),
            Point::PreScore => names(&self.pre_score),
            Point::Score => self.score.iter().map(|it| it.at.name).collect(),
            Point::Reserve => names(&self.reserve),
            Point::Permit => names(&self.permit),
            Point::PreBind => names(&self.pre_bind),
            Point::Bind => names(&self.bind),
            Point::PostBind => names(&self.post_bind),
        }
    }

    /// The plugin that orders the queue.
    pub fn queue_sort_plugin(&self) -> &'static str {
        self.queue_sort.name
    }

    /// Each score plugin's weight, in running order.
    pub fn score_weights(&self) -> impl Iterator<Item = (&'static str, i64)> {
        self.score.iter().map(|it| (it.at.name, it.weight))
    }
}
