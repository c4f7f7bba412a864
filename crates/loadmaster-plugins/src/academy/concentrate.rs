#![doc = include_str!("concentrate.md")]

use std::sync::Arc;

use loadmaster_framework::{
    Cycle, CycleState, FieldError, Filter, Gates, Hooks, Interest, NodeInfo, NodeScore, Outcome,
    Plugin, PreScore, Score, Status, api::Pod,
};
use serde::{Deserialize, Serialize};

/// See the [module](self).
#[derive(Debug)]
pub struct Concentrate {
    label_key: String,
}

/// The arguments of [`Concentrate`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct ConcentrateArgs {
    /// The label whose equal value makes pods belong together; default `app`.
    pub label_key: String,
    /// Whether Filter is served as well and refuses every node; default false.
    pub reject_everything: bool,
}

impl Default for ConcentrateArgs {
    fn default() -> Self {
        Self { label_key: "app".to_owned(), reject_everything: false }
    }
}

impl Plugin for Concentrate {
    const NAME: &'static str = "Concentrate";
    const DOC: &'static str = include_str!("concentrate.md");
    type Args = ConcentrateArgs;

    fn validate(args: &ConcentrateArgs, path: &str) -> Vec<FieldError> {
        let path = loadmaster_framework::field::child(path, "labelKey");
        let needed = || FieldError::required(path, "the label by which pods belong together");
        args.label_key.is_empty().then(needed).into_iter().collect()
    }

    fn build(args: ConcentrateArgs, _: &Gates) -> Result<Hooks, FieldError> {
        let hooks = Hooks::of(Self { label_key: args.label_key }).pre_score().score();
        Ok(if args.reject_everything { hooks.filter().into() } else { hooks.into() })
    }
}

impl Filter for Concentrate {
    fn filter(&self, _: Cycle<'_>, _: &CycleState, _: &NodeInfo) -> Outcome {
        // The event's text shows reasons and not plugin names, so the reason says who speaks.
        Err(Status::unresolvable("Concentrate: every node is refused (rejectEverything is set)"))
    }
}

/// The incoming pod's value of the label, if it has one.
#[derive(Clone, Debug)]
struct OwnValue(Option<String>);

impl PreScore for Concentrate {
    fn pre_score(
        &self,
        cx: Cycle<'_>,
        state: &mut CycleState,
        _: &[Arc<NodeInfo>],
    ) -> Outcome<Interest> {
        state.put(OwnValue(cx.pod.label(&self.label_key).map(str::to_owned)));
        Ok(Interest::Score)
    }
}

impl Score for Concentrate {
    fn score(&self, cx: Cycle<'_>, state: &CycleState, node: &NodeInfo) -> Outcome<i64> {
        // A profile may enable the plugin at `score` alone; then nothing was kept.
        let own = match state.try_get() {
            Some(OwnValue(value)) => value.as_deref(),
            None => cx.pod.label(&self.label_key),
        };
        let Some(own) = own else { return Ok(0) };
        let belongs = |it: &Pod| {
            it.namespace() == cx.pod.namespace()
                && it.label(&self.label_key) == Some(own)
                && !it.is_terminating()
        };
        let count = node.pods().iter().filter(|it| belongs(it)).count();
        Ok(i64::try_from(count).unwrap_or(i64::MAX))
    }

    /// The fewest pods give 0 points and the most 100; where all nodes have the same, all get 0.
    fn normalize(&self, _: Cycle<'_>, _: &CycleState, scores: &mut [NodeScore<'_>]) -> Outcome {
        let raw = || scores.iter().map(|it| i128::from(it.score));
        let (Some(least), Some(most)) = (raw().min(), raw().max()) else { return Ok(()) };
        let range = (most - least).max(1);
        for it in scores {
            let points = (i128::from(it.score) - least) * i128::from(NodeScore::MAX) / range;
            it.score = i64::try_from(points).unwrap_or(NodeScore::MAX);
        }
        Ok(())
    }
}

#[cfg(test)]
#[expect(clippy::needless_pass_by_value, reason = "literals of JSON read best passed by value")]
mod tests {
    use loadmaster_framework::Code;
    use serde_json::{Value, json};

    use super::*;
    use crate::test_kit::{Cluster, build, cycle, pod};

    fn labelled(name: &str, namespace: &str, labels: Value) -> Value {
        json!({"metadata": {"name": name, "uid": name, "namespace": namespace, "labels": labels}})
    }

    fn empty() -> Cluster {
        Cluster::new(&["n1", "n2", "n3"].map(|it| json!({"metadata": {"name": it}})))
    }

    /// Three matching pods on `n1`, one on `n2`; the rest must not count.
    fn cluster() -> Cluster {
        let web = json!({"app": "web"});
        let mut going = labelled("going", "ns", web.clone());
        going["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
        empty()
            .place("n1", labelled("a", "ns", web.clone()))
            .place("n1", labelled("b", "ns", web.clone()))
            .place("n1", labelled("c", "ns", web.clone()))
            .place("n2", labelled("d", "ns", web.clone()))
            .place("n2", labelled("e", "other", web))
            .place("n2", labelled("f", "ns", json!({"app": "db"})))
            .place("n3", labelled("g", "ns", json!({})))
            .place("n3", going)
    }

    fn web() -> Value {
        labelled("p", "ns", json!({"app": "web", "team": "x"}))
    }

    /// The worked example of the page.
    #[test]
    fn more_matching_pods_score_higher_and_the_range_is_0_to_100() {
        cluster().check::<Concentrate>(json!(null), web()).is(&["n1 100", "n2 33", "n3 0"]);
    }

    #[test]
    fn all_nodes_are_alike_without_the_label_or_without_pods() {
        let alike = &["n1 0", "n2 0", "n3 0"];
        cluster().check::<Concentrate>(json!(null), labelled("p", "ns", json!({}))).is(alike);
        empty().check::<Concentrate>(json!(null), web()).is(alike);
        cluster().check::<Concentrate>(json!({"labelKey": "team"}), web()).is(alike);
    }

    #[test]
    fn score_alone_reads_the_label_itself() {
        let (pod, snapshot) = (pod(web()), cluster().snapshot());
        let score = build::<Concentrate>(&json!({"labelKey": "app"})).score.unwrap();
        let counts = snapshot
            .nodes()
            .iter()
            .map(|node| score.score(cycle(&pod, &snapshot), &CycleState::default(), node).unwrap());
        assert_eq!(counts.collect::<Vec<_>>(), [3, 1, 0]);
    }

    #[test]
    fn no_node_at_all_is_no_error() {
        let (pod, snapshot) = (pod(web()), loadmaster_framework::Snapshot::default());
        let score = build::<Concentrate>(&json!(null)).score.unwrap();
        let normalized = score.normalize(cycle(&pod, &snapshot), &CycleState::default(), &mut []);
        assert_eq!(normalized, Ok(()));
    }

    #[test]
    fn filter_is_served_only_to_reject_everything_with_its_name_in_front() {
        assert!(build::<Concentrate>(&json!(null)).filter.is_none());
        let filter = build::<Concentrate>(&json!({"rejectEverything": true})).filter.unwrap();
        let (pod, snapshot) = (pod(web()), empty().snapshot());
        for node in snapshot.nodes() {
            let status =
                filter.filter(cycle(&pod, &snapshot), &CycleState::default(), node).unwrap_err();
            assert_eq!(status.code(), Code::UnschedulableAndUnresolvable);
            assert!(status.message().starts_with("Concentrate: "), "{status}");
        }
    }

    #[test]
    fn an_empty_label_key_is_refused() {
        let args = ConcentrateArgs { label_key: String::new(), ..ConcentrateArgs::default() };
        let errors = Concentrate::validate(&args, "args");
        let text = "args.labelKey: Required value: the label by which pods belong together";
        assert_eq!(errors.iter().map(ToString::to_string).collect::<Vec<_>>(), [text]);
    }
}
