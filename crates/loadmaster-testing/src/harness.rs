//! Runs plugins over a cluster in memory and tells everything that was said.
//!
//! A test of a plugin is a few lines: what there is, one pod, and what is expected of it.
//!
//! ```
//! use loadmaster_framework::{
//!     Cycle, CycleState, FieldError, Filter, Gates, Hooks, NodeInfo, Outcome, Plugin, Status,
//! };
//! use loadmaster_testing::{Harness, builders::{node, pod}};
//!
//! /// Keeps pods off nodes under maintenance.
//! struct Maintenance;
//!
//! impl Plugin for Maintenance {
//!     const NAME: &'static str = "Maintenance";
//!     type Args = ();
//!     fn build((): (), _: &Gates) -> Result<Hooks, FieldError> {
//!         Ok(Hooks::of(Self).filter().into())
//!     }
//! }
//!
//! impl Filter for Maintenance {
//!     fn filter(&self, _: Cycle<'_>, _: &CycleState, node: &NodeInfo) -> Outcome {
//!         match node.label("maintenance") {
//!             Some("true") => Err(Status::unschedulable("node is under maintenance")),
//!             _ => Ok(()),
//!         }
//!     }
//! }
//!
//! let harness = Harness::new()
//!     .plugin::<Maintenance>()
//!     .nodes([node("n1").label("maintenance", "true"), node("n2")]);
//! let placement = harness.place(pod("a"));
//! assert_eq!(placement.node(), Some("n2"));
//! assert_eq!(placement.reasons("n1"), ["node is under maintenance"]);
//! ```

use std::{fmt, sync::Arc};

use loadmaster_core::profile::{PluginRef, Profile, ProfileSpec};
use loadmaster_framework::{
    Bind, Binding, Cycle, CycleState, FieldError, Gates, Hooks, Object, Outcome, Plugin, PodInfo,
    Point, QueueSort, QueuedPodInfo, Registry, Status,
    api::{Node, Pod},
};
use serde_json::Value;

use crate::{cluster::Cluster, profiles, trial, trial::Trial};

/// A profile of the plugins under test, and a cluster in memory.
///
/// Texts and plugins that are wrong panic: a test that is written wrong should stop where it is
/// wrong.
#[derive(Debug)]
pub struct Harness {
    registry: Registry,
    spec: ProfileSpec,
    cluster: Cluster,
}

impl Default for Harness {
    fn default() -> Self {
        Self::new()
    }
}

impl Harness {
    /// A harness without plugins of its own; add those under test with [`Harness::plugin`].
    pub fn new() -> Self {
        let harness = Self {
            registry: Registry::default(),
            spec: ProfileSpec {
                scheduler_name: "default-scheduler".to_owned(),
                ..ProfileSpec::default()
            },
            cluster: Cluster::default(),
        };
        harness.plugin::<FirstComeFirstServed>().plugin::<Binder>()
    }

    /// A harness with the first profile of a `KubeSchedulerConfiguration`, its plugins taken from
    /// `registry`.
    ///
    /// # Panics
    /// When the configuration is refused.
    #[expect(clippy::panic, reason = "a test that is written wrong should stop where it is wrong")]
    pub fn of_config(yaml: &str, registry: Registry) -> Self {
        let spec = match profiles::specs(yaml, &registry) {
            Ok(specs) => specs.into_iter().next().expect("a configuration has a profile"),
            Err(error) => panic!("{error}"),
        };
        Self { registry, spec, cluster: Cluster::default() }
    }

    /// Enables `P` with its default arguments at every point that it serves, with weight 1.
    #[must_use]
    pub fn plugin<P: Plugin>(self) -> Self {
        self.plugin_with::<P>(&Value::Null)
    }

    /// Enables `P` with `args` at every point that it serves, with weight 1.
    ///
    /// # Panics
    /// When the arguments are refused.
    #[must_use]
    pub fn plugin_with<P: Plugin>(mut self, args: &Value) -> Self {
        let unknown = !self.registry.contains(P::NAME);
        if unknown {
            stop(self.registry.register::<P>());
        }
        let hooks = stop(self.registry.build(P::NAME, args, &Gates::default()));
        self.spec.args.insert(P::NAME.to_owned(), args.clone());
        for point in Point::ALL.iter().filter(|it| hooks.serves(**it)) {
            let listed = self.spec.plugins.entry(*point).or_default();
            listed.retain(|it| it.name != P::NAME);
            listed.push(PluginRef::new(P::NAME));
        }
        self
    }

    /// Multiplies the points of `plugin` by `weight`.
    #[must_use]
    pub fn weight(mut self, plugin: &str, weight: i64) -> Self {
        for it in self.spec.plugins.entry(Point::Score).or_default() {
            if it.name == plugin {
                it.weight = weight;
            }
        }
        self
    }

    /// Leaves `plugin` enabled at these points alone.
    #[must_use]
    pub fn only_at(mut self, plugin: &str, points: &[Point]) -> Self {
        for (point, listed) in &mut self.spec.plugins {
            if !points.contains(point) {
                listed.retain(|it| it.name != plugin);
            }
        }
        self
    }

    /// Adds nodes.
    #[must_use]
    pub fn nodes<N: Into<Node>>(mut self, nodes: impl IntoIterator<Item = N>) -> Self {
        nodes.into_iter().for_each(|it| self.cluster.add(it.into()));
        self
    }

    /// Adds pods that are placed on nodes, or to which a node is promised.
    #[must_use]
    pub fn pods<P: Into<Pod>>(mut self, pods: impl IntoIterator<Item = P>) -> Self {
        pods.into_iter().for_each(|it| self.cluster.add(it.into()));
        self
    }

    /// Adds any other object.
    #[must_use]
    pub fn object(mut self, object: impl Into<Object>) -> Self {
        self.cluster.add(object);
        self
    }

    /// Tries one pod. Nothing is changed: the pod is not placed.
    ///
    /// # Panics
    /// When the profile cannot be built.
    pub fn place(&self, pod: impl Into<Pod>) -> Placement {
        let profile = stop(Profile::build(&self.spec, &self.registry, &Gates::default()));
        let pod = PodInfo::new(Arc::new(pod.into()));
        Placement(trial::run(&profile, &self.cluster, &pod))
    }

    /// Tries one pod, and places it on the node that was taken, if one was, for those that follow.
    ///
    /// # Panics
    /// When the profile cannot be built.
    pub fn schedule(&mut self, pod: impl Into<Pod>) -> Placement {
        let mut pod = pod.into();
        let placement = self.place(pod.clone());
        if let Some(node) = placement.node() {
            pod.spec.node_name = node.into();
            self.cluster.add(pod);
        }
        placement
    }

    /// The cluster as it is now.
    pub fn cluster(&self) -> &Cluster {
        &self.cluster
    }
}

#[expect(clippy::panic, reason = "a test that is written wrong should stop where it is wrong")]
fn stop<T, E: fmt::Display>(result: Result<T, E>) -> T {
    result.unwrap_or_else(|error| panic!("{error}"))
}

/// Where a pod went, and everything that was said on the way. Displayed, it is a table that is
/// fit for a snapshot.
#[derive(Clone, Debug)]
pub struct Placement(Trial);

impl Placement {
    /// The node that was taken.
    pub fn node(&self) -> Option<&str> {
        self.0.node.as_deref()
    }

    /// What the filters said of `node`.
    ///
    /// # Errors
    /// Why the pod does not fit there.
    ///
    /// # Panics
    /// When there is no such node, or none was looked at.
    #[expect(clippy::panic, reason = "a test that is written wrong should stop where it is wrong")]
    pub fn verdict(&self, node: &str) -> Result<(), &Status> {
        let verdict = self.0.verdicts.iter().find(|it| &*it.node == node);
        match verdict {
            Some(verdict) => verdict.outcome.as_ref().copied(),
            None => panic!("no verdict on node {node:?}; {self}"),
        }
    }

    /// Why the pod does not fit on `node`; empty where it does.
    ///
    /// # Panics
    /// When there is no such node, or none was looked at.
    pub fn reasons(&self, node: &str) -> Vec<&str> {
        let refused = self.verdict(node).err();
        refused.map(|it| it.reasons().iter().map(|it| &**it).collect()).unwrap_or_default()
    }

    /// The weighted points that `plugin` gave `node`; 0 where it was skipped or the pod does not
    /// fit.
    pub fn score(&self, plugin: &str, node: &str) -> i64 {
        let points = self.0.points.iter().find(|it| &*it.node == node);
        let mut points = points.into_iter().flat_map(|it| &it.plugins);
        points.find(|(name, _)| *name == plugin).map_or(0, |(_, points)| *points)
    }

    /// The points that `plugin` gave, node by node, in the order in which the nodes came.
    pub fn scores(&self, plugin: &str) -> Vec<(&str, i64)> {
        self.0.points.iter().map(|it| (&*it.node, self.score(plugin, &it.node))).collect()
    }

    /// The sum of the points of `node`; `None` where the pod does not fit.
    pub fn total(&self, node: &str) -> Option<i64> {
        self.0.points.iter().find(|it| &*it.node == node).map(|it| it.total)
    }

    /// What the user reads where the pod was not placed.
    pub fn message(&self) -> Option<String> {
        let held = self.0.pre_enqueue.as_ref().err().map(Status::message);
        held.or_else(|| self.0.fit_error.clone()).or_else(|| self.0.error.clone())
    }

    /// Pods that would be deleted to make room, `namespace/name`, most important first.
    pub fn victims(&self) -> Vec<String> {
        let victims = self.0.post_filter.iter().flat_map(|it| &it.victims);
        victims.map(|it| it.key().to_string()).collect()
    }

    /// Everything else.
    pub fn trial(&self) -> &Trial {
        &self.0
    }
}

impl fmt::Display for Placement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for verdict in &self.0.verdicts {
            write!(f, "{}", verdict.node)?;
            if self.node() == Some(&*verdict.node) {
                write!(f, " <-")?;
            }
            if let Err(status) = &verdict.outcome {
                writeln!(f, ": {status:?}")?;
                continue;
            }
            write!(f, ": {}", self.total(&verdict.node).unwrap_or(0))?;
            let points = self.0.points.iter().find(|it| it.node == verdict.node);
            for (plugin, points) in points.iter().flat_map(|it| &it.plugins) {
                write!(f, " {plugin}={points}")?;
            }
            writeln!(f)?;
        }
        if let Some(message) = self.message() {
            writeln!(f, "{message}")?;
        }
        Ok(())
    }
}

/// Orders the queue by time; a profile needs one that does.
struct FirstComeFirstServed;

impl Plugin for FirstComeFirstServed {
    const NAME: &'static str = "FirstComeFirstServed";
    type Args = ();

    fn build((): (), _: &Gates) -> Result<Hooks, FieldError> {
        Ok(Hooks::of(Self).queue_sort().into())
    }
}

impl QueueSort for FirstComeFirstServed {
    fn less(&self, a: &QueuedPodInfo, b: &QueuedPodInfo) -> bool {
        a.timestamp < b.timestamp
    }
}

/// Binds as usual; a profile needs one that does.
struct Binder;

impl Plugin for Binder {
    const NAME: &'static str = "Binder";
    type Args = ();

    fn build((): (), _: &Gates) -> Result<Hooks, FieldError> {
        Ok(Hooks::of(Self).bind().into())
    }
}

impl Bind for Binder {
    fn bind(&self, cx: Cycle<'_>, _: &CycleState, node: &str) -> Outcome<Binding> {
        let (pod, uid) = (cx.pod.key(), cx.pod.uid().clone());
        Ok(Binding::Do(loadmaster_framework::Action::Bind { pod, uid, node: node.into() }))
    }
}
