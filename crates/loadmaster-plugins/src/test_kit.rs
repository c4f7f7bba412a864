//! Hand-made pods and nodes, and one plugin's verdict on them.

use std::{sync::Arc, time::Duration};

use loadmaster_framework::{
    Candidates, ClusterEvent, Cycle, CycleState, FeedFact, Gates, Hint, Hooks, Interest, Listers,
    NodeInfo, NodeScore, Object, Plugin, PluginError, PodInfo, QueueingHint, Registry, Snapshot,
    Status,
    api::{Node, Pod},
};
use serde_json::Value;

/// A pod as the API writes it.
pub(crate) fn pod(json: Value) -> PodInfo {
    PodInfo::new(Arc::new(serde_json::from_value::<Pod>(json).unwrap()))
}

/// Plugin `P` with `args` (`null` for the defaults).
pub(crate) fn build<P: Plugin>(args: &Value) -> Hooks {
    let mut registry = Registry::default();
    registry.register::<P>().unwrap();
    registry.build(P::NAME, args, &Gates::default()).unwrap()
}

/// What the points of a cycle are told.
pub(crate) fn cycle<'a>(pod: &'a PodInfo, snapshot: &'a Snapshot) -> Cycle<'a> {
    Cycle { pod, snapshot, profile: "default-scheduler", now: Duration::ZERO }
}

/// Nodes with pods on them.
#[derive(Default)]
pub(crate) struct Cluster {
    nodes: Vec<NodeInfo>,
    listers: Listers,
    now: Duration,
}

impl Cluster {
    /// Nodes as the API writes them.
    pub(crate) fn new(nodes: &[Value]) -> Self {
        let node = |it: &Value| {
            NodeInfo::new(Arc::new(serde_json::from_value::<Node>(it.clone()).unwrap()))
        };
        Self {
            nodes: nodes.iter().map(node).collect(),
            listers: Listers::default(),
            now: Duration::ZERO,
        }
    }

    /// Puts a pod on the node `name`.
    pub(crate) fn place(mut self, name: &str, json: Value) -> Self {
        let node = self.nodes.iter_mut().find(|it| &**it.name() == name).unwrap();
        node.add_pod(Arc::new(pod(json)));
        self
    }

    /// Adds an object that is neither a node nor a pod.
    pub(crate) fn with(mut self, object: impl Into<Object>) -> Self {
        self.listers.upsert(&object.into());
        self
    }

    /// Lets the clock stand at `now`.
    pub(crate) fn at(self, now: Duration) -> Self {
        Self { now, ..self }
    }

    /// Adds what a feed brought.
    pub(crate) fn fact(mut self, feed: &str, key: &str, value: Value, at: Duration) -> Self {
        let facts = Arc::make_mut(&mut self.listers.feeds);
        facts.insert((feed.into(), key.into()), FeedFact { value, at });
        self
    }

    pub(crate) fn snapshot(&self) -> Snapshot {
        let nodes = self.nodes.iter().cloned().map(Arc::new).collect();
        Snapshot::new(nodes, self.listers.clone())
    }

    /// Runs the points of a cycle that `P` serves.
    pub(crate) fn check<P: Plugin>(&self, args: Value, pod_json: Value) -> Verdicts {
        let (hooks, pod, snapshot) = (build::<P>(&args), pod(pod_json), self.snapshot());
        let cx = Cycle { now: self.now, ..cycle(&pod, &snapshot) };
        let mut state = CycleState::default();
        let mut verdicts = Verdicts::default();
        let candidates = hooks.pre_filter.as_ref().map(|it| it.pre_filter(cx, &mut state));
        let candidates = match candidates.unwrap_or(Ok(Candidates::All)) {
            Ok(candidates) => candidates,
            Err(status) => {
                verdicts.lines.push(line("*", &status));
                return verdicts;
            }
        };
        verdicts.skipped_filter = candidates == Candidates::Skip;
        let mut fits = Vec::new();
        for node in snapshot.nodes() {
            let excluded = matches!(&candidates, Candidates::Only(it) if !it.contains(node.name()));
            let filter = hooks.filter.as_ref().filter(|_| !verdicts.skipped_filter);
            let outcome = filter.map_or(Ok(()), |it| it.filter(cx, &state, node));
            match outcome {
                _ if excluded => verdicts.lines.push(format!("{} excluded", node.name())),
                Ok(()) => {
                    fits.push(Arc::clone(node));
                    verdicts.lines.push(format!("{} ok", node.name()));
                }
                Err(status) => verdicts.lines.push(line(node.name(), &status)),
            }
        }
        verdicts.score(&hooks, cx, &mut state, &fits);
        verdicts
    }
}

fn line(node: &str, status: &Status) -> String {
    format!("{node} {}: {}", status.code(), status.message())
}

/// [`Cluster::check`] over nodes without pods.
pub(crate) fn check<P: Plugin>(args: Value, pod: Value, nodes: &[Value]) -> Verdicts {
    Cluster::new(nodes).check::<P>(args, pod)
}

/// One line a node: its refusal, its score, or `ok` where the plugin does not score it.
#[derive(Debug, Default)]
pub(crate) struct Verdicts {
    lines: Vec<String>,
    skipped_filter: bool,
    skipped_score: bool,
}

impl Verdicts {
    fn score(
        &mut self,
        hooks: &Hooks,
        cx: Cycle<'_>,
        state: &mut CycleState,
        fits: &[Arc<NodeInfo>],
    ) {
        if let Some(it) = &hooks.pre_score {
            self.skipped_score = it.pre_score(cx, state, fits).unwrap() == Interest::Skip;
        }
        let Some(plugin) = hooks.score.as_ref().filter(|_| !self.skipped_score) else { return };
        let score = |node| NodeScore { node, score: plugin.score(cx, state, node).unwrap() };
        let mut scores: Vec<NodeScore<'_>> = fits.iter().map(|it| score(&**it)).collect();
        plugin.normalize(cx, state, &mut scores).unwrap();
        for NodeScore { node, score } in scores {
            let ok = format!("{} ok", node.name());
            let line = self.lines.iter_mut().find(|it| **it == ok).unwrap();
            *line = format!("{} {score}", node.name());
        }
    }

    #[track_caller]
    pub(crate) fn is(&self, expected: &[&str]) {
        assert_eq!(self.lines, expected);
    }

    pub(crate) fn lines(&self) -> &[String] {
        &self.lines
    }

    /// Whether PreFilter said that Filter need not be asked.
    pub(crate) fn skipped_filter(&self) -> bool {
        self.skipped_filter
    }

    /// Whether PreScore said that Score need not be asked.
    pub(crate) fn skipped_score(&self) -> bool {
        self.skipped_score
    }
}

/// What `P` says to a change, by the first registration that covers it.
pub(crate) fn hint<P: Plugin>(
    pod: &PodInfo,
    event: ClusterEvent,
    old: Option<&Object>,
    new: Option<&Object>,
) -> Result<QueueingHint, PluginError> {
    let hooks = build::<P>(&Value::Null);
    let extensions = hooks.enqueue_extensions.unwrap();
    let registered = extensions.events_to_register();
    let registered = registered.iter().find(|it| it.event.covers(&event)).unwrap().event;
    let listers = Listers::default();
    extensions.queueing_hint(Hint { registered, event, pod, old, new, listers: &listers })
}
