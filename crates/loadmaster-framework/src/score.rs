//! Scores and how they are brought to one scale.

use super::NodeInfo;

/// One plugin's opinion of one node.
#[derive(Clone, Copy, Debug)]
pub struct NodeScore<'a> {
    /// The node.
    pub node: &'a NodeInfo,
    /// Any scale before normalising; [`NodeScore::MIN`]`..=`[`NodeScore::MAX`] points after.
    pub score: i64,
}

impl NodeScore<'_> {
    /// Worst normalised score.
    pub const MIN: i64 = 0;
    /// Best normalised score.
    pub const MAX: i64 = 100;

    /// Rescales to `MIN..=MAX` against the largest score, rounding down; `reverse` turns the order
    /// around, for plugins that count faults. Upstream: `DefaultNormalizeScore(100, reverse, …)`,
    /// widened so that a large score cannot overflow.
    pub fn normalize(scores: &mut [Self], reverse: bool) {
        let largest = scores.iter().map(|it| it.score).max().unwrap_or(0).max(0);
        for score in scores {
            let scaled = match largest {
                0 => i128::from(Self::MIN),
                _ => i128::from(Self::MAX) * i128::from(score.score) / i128::from(largest),
            };
            // A scaled score is at most MAX; far below zero it is cut, and then refused by the
            // runner as upstream refuses it.
            let scaled = i64::try_from(scaled).unwrap_or(i64::MIN);
            score.score = if reverse { Self::MAX.saturating_sub(scaled) } else { scaled };
        }
    }
}
