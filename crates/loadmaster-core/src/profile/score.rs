//! Scoring: each plugin's points, normalised, weighted and summed.

use std::sync::Arc;

use loadmaster_framework::{Cycle, CycleState, NodeInfo, NodeScore, Outcome, Score, Status};

use super::{At, PluginSet, Profile, Weighted, guard::Granted};
use crate::meter::{CallPoint, Watch};

/// What the score plugins said of some nodes: weighted points, node by node.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NodePluginScores {
    plugins: Vec<&'static str>,
    /// Weighted points, plugin by plugin and in it node by node.
    points: Vec<i64>,
    totals: Vec<i64>,
}

impl NodePluginScores {
    /// Sums of the weighted points, in the order of the nodes.
    pub fn totals(&self) -> &[i64] {
        &self.totals
    }

    /// The weighted points that each plugin gave the node at this position.
    pub fn of_node(&self, node: usize) -> impl Iterator<Item = (&'static str, i64)> {
        let count = self.totals.len();
        self.plugins
            .iter()
            .enumerate()
            .map(move |(at, name)| (*name, self.points[at * count + node]))
    }

    /// Adds points from outside the plugins (an extender's) to the node at this position.
    pub fn add(&mut self, node: usize, points: i64) {
        self.totals[node] = self.totals[node].saturating_add(points);
    }

    /// Every node alike.
    pub fn even(count: usize) -> Self {
        Self { plugins: Vec::new(), points: Vec::new(), totals: vec![1; count] }
    }
}

impl Profile {
    /// Whether there is any Score.
    pub fn has_score(&self) -> bool {
        !self.score.is_empty()
    }

    /// Scores `nodes`: raw points, normalised to 0..=100, times weight. Plugins in `skip` are left
    /// out; with none left every total is 0 (k/k#121630).
    ///
    /// # Errors
    /// The first plugin that breaks, or that leaves points outside 0..=100 (k/k#80784).
    pub fn run_score(
        &self,
        cx: Cycle<'_>,
        state: &CycleState,
        nodes: &[Arc<NodeInfo>],
        skip: PluginSet,
    ) -> Outcome<NodePluginScores> {
        self.timed(CallPoint::Score, || self.score_all(cx, state, nodes, skip))
    }

    fn score_all(
        &self,
        cx: Cycle<'_>,
        state: &CycleState,
        nodes: &[Arc<NodeInfo>],
        skip: PluginSet,
    ) -> Outcome<NodePluginScores> {
        let wanted = || self.score.iter().filter(|it| !skip.contains(it.at.plugin));
        let mut scores = NodePluginScores {
            plugins: wanted().map(|it| it.at.name).collect(),
            points: Vec::with_capacity(wanted().count() * nodes.len()),
            totals: vec![0; nodes.len()],
        };
        let mut row: Vec<NodeScore<'_>> = Vec::with_capacity(nodes.len());
        for Weighted { at, weight } in wanted() {
            score_nodes(&self.watch, at, cx, state, nodes, &mut row)?;
            for (score, total) in row.iter().zip(&mut scores.totals) {
                let points = score.score;
                if !(NodeScore::MIN..=NodeScore::MAX).contains(&points) {
                    return Err(out_of_range(at.name, points));
                }
                let weighted = points.saturating_mul(*weight);
                scores.points.push(weighted);
                *total = total.saturating_add(weighted);
            }
        }
        Ok(scores)
    }
}

impl Granted for NodePluginScores {}

/// One plugin's normalised points for every node.
fn score_nodes<'n>(
    watch: &Watch,
    plugin: &At<dyn Score>,
    cx: Cycle<'_>,
    state: &CycleState,
    nodes: &'n [Arc<NodeInfo>],
    row: &mut Vec<NodeScore<'n>>,
) -> Outcome {
    let name = plugin.name;
    row.clear();
    for node in nodes {
        let call = || plugin.hook.score(cx, state, node);
        let outcome = plugin.call(watch, CallPoint::Score, Some(node.name()), call);
        match outcome.unwrap_or_else(|broken| Err(broken.into())) {
            Ok(score) => row.push(NodeScore { node, score }),
            Err(status) => {
                let text = format!("running Score plugins: plugin {name:?} failed with: {status}");
                return Err(Status::error(text).with_plugin(name));
            }
        }
    }
    let call = || plugin.hook.normalize(cx, state, row);
    let outcome = plugin.call(watch, CallPoint::ScoreNormalize, None, call);
    outcome.unwrap_or_else(|broken| Err(broken.into())).map_err(|status| {
        let text =
            format!("running Normalize on Score plugins: plugin {name:?} failed with: {status}");
        Status::error(text).with_plugin(name)
    })
}

fn out_of_range(plugin: &'static str, points: i64) -> Status {
    let (least, most) = (NodeScore::MIN, NodeScore::MAX);
    Status::error(format!(
        "applying score defaultWeights on Score plugins: plugin {plugin:?} returns an invalid \
         score {points}, it should in the range of [{least}, {most}] after normalizing"
    ))
    .with_plugin(plugin)
}
