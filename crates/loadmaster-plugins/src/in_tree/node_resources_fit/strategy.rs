//! How a node's use becomes points.

use loadmaster_framework::{FieldError, NodeScore};

use crate::in_tree::{
    args::{ScoringStrategy, UtilizationShapePoint},
    resource_slot::Usage,
};

/// `scoringStrategy.type`.
#[derive(Debug)]
pub(super) enum Strategy {
    /// The emptier, the better.
    LeastAllocated,
    /// The fuller, the better.
    MostAllocated,
    /// By a line from how full a node is to points.
    RequestedToCapacityRatio(Vec<Point>),
}

/// A point of the line.
#[derive(Clone, Copy, Debug)]
pub(super) struct Point {
    /// How full, in percent.
    utilization: i128,
    /// Points out of 100.
    score: i128,
}

impl Strategy {
    pub(super) fn new(args: &ScoringStrategy) -> Result<Self, FieldError> {
        match (&*args.kind, &args.requested_to_capacity_ratio) {
            ("LeastAllocated", None) => Ok(Self::LeastAllocated),
            ("MostAllocated", None) => Ok(Self::MostAllocated),
            ("RequestedToCapacityRatio", Some(ratio)) if !ratio.shape.is_empty() => {
                Ok(Self::RequestedToCapacityRatio(ratio.shape.iter().map(Point::new).collect()))
            }
            // Validation has refused everything else with more words.
            (kind, _) => {
                let path = "args.scoringStrategy";
                Err(FieldError::invalid(
                    path,
                    kind,
                    "unknown type, or a shape that does not go with it",
                ))
            }
        }
    }

    /// The node's points: the weighted mean over the resources that count, 0 where none does.
    pub(super) fn score(&self, usages: impl Iterator<Item = Usage>) -> i64 {
        let (mut sum, mut weights) = (0, 0);
        for usage in usages {
            let points = self.points(&usage);
            // As upstream, a resource without points has no weight under this strategy.
            if points > 0 || !matches!(self, Self::RequestedToCapacityRatio(_)) {
                sum += points * usage.weight;
                weights += usage.weight;
            }
        }
        match (weights, self) {
            (0, _) => 0,
            (_, Self::RequestedToCapacityRatio(_)) => rounded(sum, weights),
            _ => i64::try_from(sum / weights).unwrap_or(NodeScore::MAX),
        }
    }

    fn points(&self, Usage { after, capacity, .. }: &Usage) -> i128 {
        let most = i128::from(NodeScore::MAX);
        match self {
            Self::LeastAllocated if after > capacity => 0,
            Self::LeastAllocated => (capacity - after) * most / capacity,
            Self::MostAllocated => after.min(capacity) * most / capacity,
            Self::RequestedToCapacityRatio(line) if after > capacity => on_line(line, 100),
            Self::RequestedToCapacityRatio(line) => on_line(line, after * 100 / capacity),
        }
    }
}

#[expect(clippy::cast_possible_truncation, reason = "a mean of points is at most 100")]
fn rounded(sum: i128, weights: i128) -> i64 {
    (sum as f64 / weights as f64).round() as i64
}

impl Point {
    /// The configuration counts scores up to 10.
    fn new(it: &UtilizationShapePoint) -> Self {
        Self { utilization: it.utilization.into(), score: i128::from(it.score) * 10 }
    }
}

/// The line's height at `utilization`: level before its first and after its last point.
fn on_line(line: &[Point], utilization: i128) -> i128 {
    let Some(next) = line.iter().position(|it| utilization <= it.utilization) else {
        return line.last().map_or(0, |it| it.score);
    };
    let to = line[next];
    let Some(from) = next.checked_sub(1).map(|it| line[it]) else { return to.score };
    let (rise, run) = (to.score - from.score, to.utilization - from.utilization);
    from.score + rise * (utilization - from.utilization) / run
}
