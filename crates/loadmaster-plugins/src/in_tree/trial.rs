//! Runs one plugin's points over a small cluster, for the tests of the plugins.

use std::{sync::Arc, time::Duration};

use loadmaster_framework::{
    ActionType, Candidates, ClusterEvent, Code, Cycle, CycleState, Gates, Hint, Hooks, Interest,
    Listers, NodeInfo, NodeScore, Object, Outcome, Plugin, PodInfo, QueueingHint, Registry,
    Snapshot,
};

/// A plugin and the cluster that it looks at.
pub(crate) struct Trial {
    pub(crate) hooks: Hooks,
    pub(crate) snapshot: Snapshot,
}

impl Trial {
    /// The plugin `P` with its default arguments over `nodes`.
    pub(crate) fn of<P: Plugin>(nodes: impl IntoIterator<Item = NodeInfo>) -> Self {
        Self::with_args::<P>(&serde_json::Value::Null, nodes)
    }

    /// The plugin `P` with `args` over `nodes`.
    pub(crate) fn with_args<P: Plugin>(
        args: &serde_json::Value,
        nodes: impl IntoIterator<Item = NodeInfo>,
    ) -> Self {
        let mut registry = Registry::default();
        registry.register::<P>().expect("the registry is empty");
        let hooks = registry.build(P::NAME, args, &Gates::default()).expect("the args are right");
        let nodes = nodes.into_iter().map(Arc::new).collect();
        Self { hooks, snapshot: Snapshot::new(nodes, Listers::default()) }
    }

    /// With this object in the listers too.
    pub(crate) fn knowing(mut self, object: impl Into<Object>) -> Self {
        let mut listers = self.snapshot.listers().clone();
        listers.upsert(&object.into());
        self.snapshot.set_listers(listers);
        self
    }

    /// What the points are told of `pod`.
    pub(crate) fn cycle<'a>(&'a self, pod: &'a PodInfo) -> Cycle<'a> {
        let now = Duration::ZERO;
        Cycle { pod, snapshot: &self.snapshot, profile: "default-scheduler", now }
    }

    /// PreFilter, with the state that it leaves.
    pub(crate) fn pre_filter(&self, pod: &PodInfo) -> (Outcome<Candidates>, CycleState) {
        let mut state = CycleState::default();
        let point = self.hooks.pre_filter.as_ref().expect("the plugin has a PreFilter");
        (point.pre_filter(self.cycle(pod), &mut state), state)
    }

    /// Filter on the node of this name.
    pub(crate) fn filter(&self, pod: &PodInfo, state: &CycleState, node: &str) -> Outcome {
        let node = self.snapshot.node(node).expect("the node is there");
        let point = self.hooks.filter.as_ref().expect("the plugin has a Filter");
        point.filter(self.cycle(pod), state, node)
    }

    /// Each node with the plugin's verdict on it: `Code: reasons`, or empty where the pod fits.
    pub(crate) fn verdicts(&self, pod: &PodInfo) -> Vec<(String, String)> {
        let show = |outcome: Outcome| match outcome {
            Ok(()) => String::new(),
            Err(status) => {
                let code = match status.code() {
                    Code::UnschedulableAndUnresolvable => "Unresolvable",
                    code => code.as_str(),
                };
                format!("{code}: {}", status.message())
            }
        };
        let (outcome, state) = match &self.hooks.pre_filter {
            Some(_) => self.pre_filter(pod),
            None => (Ok(Candidates::All), CycleState::default()),
        };
        let nodes = self.snapshot.nodes().iter().map(|it| it.name());
        nodes
            .map(|node| {
                let verdict = match &outcome {
                    Err(status) => show(Err(status.clone())),
                    Ok(Candidates::Skip) => String::new(),
                    Ok(Candidates::Only(names)) if !names.contains(node) => "left out".to_owned(),
                    Ok(_) => show(self.filter(pod, &state, node)),
                };
                (node.to_string(), verdict)
            })
            .collect()
    }

    /// Names of the nodes that the plugin refuses.
    pub(crate) fn refused(&self, pod: &PodInfo) -> Vec<String> {
        let verdicts = self.verdicts(pod).into_iter();
        verdicts.filter(|(_, verdict)| !verdict.is_empty()).map(|(node, _)| node).collect()
    }

    /// The normalised score of every node, as if all were feasible; `None` where PreScore skips.
    pub(crate) fn scores(&self, pod: &PodInfo) -> Option<Vec<i64>> {
        let names: Vec<_> = self.snapshot.nodes().iter().map(|it| it.name().to_string()).collect();
        self.scores_of(pod, &names)
    }

    /// The normalised scores of the nodes named, as if they were the feasible ones.
    pub(crate) fn scores_of(&self, pod: &PodInfo, feasible: &[String]) -> Option<Vec<i64>> {
        let mut state = CycleState::default();
        let node = |name: &String| Arc::clone(self.snapshot.node(name).expect("it is there"));
        let nodes: Vec<_> = feasible.iter().map(node).collect();
        if let Some(point) = &self.hooks.pre_score {
            let interest = point.pre_score(self.cycle(pod), &mut state, &nodes);
            if interest.expect("PreScore passes") == Interest::Skip {
                return None;
            }
        }
        Some(self.scores_from(pod, &state, &nodes))
    }

    /// The normalised scores of `nodes` with what PreScore left in `state`.
    pub(crate) fn scores_from(
        &self,
        pod: &PodInfo,
        state: &CycleState,
        nodes: &[Arc<NodeInfo>],
    ) -> Vec<i64> {
        let point = self.hooks.score.as_ref().expect("the plugin has a Score");
        let cx = self.cycle(pod);
        let raw = |node| point.score(cx, state, node).expect("Score passes");
        let mut scores: Vec<_> =
            nodes.iter().map(|node| NodeScore { node, score: raw(node) }).collect();
        point.normalize(cx, state, &mut scores).expect("normalising passes");
        scores.iter().map(|it| it.score).collect()
    }

    /// Whether the plugin thinks that a change from `old` to `new` helps `pod`.
    #[expect(clippy::needless_pass_by_value, reason = "a test makes the objects for this call")]
    pub(crate) fn helps(
        &self,
        action: ActionType,
        pod: &PodInfo,
        old: Option<Object>,
        new: Option<Object>,
    ) -> bool {
        let object = old.as_ref().or(new.as_ref()).expect("something changed");
        let resource = object.resource().expect("its changes wake pods");
        let extensions = self.hooks.enqueue_extensions.as_ref().expect("the plugin has hints");
        let event = ClusterEvent::new(resource, action);
        let registered = extensions.events_to_register();
        let registered = registered.iter().find(|it| it.event.covers(&event));
        let Some(registered) = registered else { return false };
        let hint = Hint {
            registered: registered.event,
            event,
            pod,
            old: old.as_ref(),
            new: new.as_ref(),
            listers: self.snapshot.listers(),
        };
        !registered.has_hint
            || extensions.queueing_hint(hint).is_ok_and(|it| it == QueueingHint::Queue)
    }
}
