#![doc = include_str!("custom_metric.md")]

use loadmaster_framework::{
    ActionType, ClusterEventWithHint, Cycle, CycleState, EnqueueExtensions, EventResource, Feed,
    FeedSource, FieldError, Filter, Gates, Hooks, NodeInfo, NodeScore, OnStale, Outcome, Plugin,
    Polling, Score,
    api::{Quantity, Text},
    duration::GoDuration,
    field::child,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// See the [module](self).
#[derive(Debug)]
pub struct CustomMetric {
    feed: Feed,
    field: String,
    prefer: Prefer,
}

/// Which numbers are good.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Prefer {
    /// Low ones.
    #[default]
    Least,
    /// High ones.
    Most,
}

/// The arguments of [`CustomMetric`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct CustomMetricArgs {
    /// Where the numbers come from.
    pub url: String,
    /// Where in a fact the number stands, as a JSON pointer.
    pub field: String,
    /// Which numbers are good.
    pub prefer: Prefer,
    /// From one question to the next.
    pub interval: GoDuration,
    /// How long an answer may take.
    pub timeout: GoDuration,
    /// When a fact becomes stale.
    pub max_age: GoDuration,
    /// What a fact means that is stale or not there.
    pub on_stale: OnStale,
}

impl Default for CustomMetricArgs {
    fn default() -> Self {
        Self {
            url: String::new(),
            field: String::new(),
            prefer: Prefer::default(),
            interval: GoDuration::from_secs(15),
            timeout: GoDuration::from_secs(10),
            max_age: GoDuration::from_secs(60),
            on_stale: OnStale::default(),
        }
    }
}

impl Plugin for CustomMetric {
    const NAME: &'static str = "CustomMetric";
    const DOC: &'static str = include_str!("custom_metric.md");
    type Args = CustomMetricArgs;

    fn validate(args: &CustomMetricArgs, path: &str) -> Vec<FieldError> {
        let mut faults = Vec::new();
        if args.url.is_empty() {
            faults.push(FieldError::required(child(path, "url"), "where the numbers come from"));
        }
        if !args.field.is_empty() && !args.field.starts_with('/') {
            let message = "must be empty or begin with \"/\", as \"/usage/cpu\"";
            faults.push(FieldError::invalid(child(path, "field"), &args.field, message));
        }
        let times =
            [("interval", args.interval), ("timeout", args.timeout), ("maxAge", args.max_age)];
        for (name, time) in times.into_iter().filter(|(_, it)| it.nanos() <= 0) {
            let path = child(path, name);
            faults.push(FieldError::invalid(path, time.to_string(), "must be greater than zero"));
        }
        faults
    }

    fn build(args: CustomMetricArgs, _: &Gates) -> Result<Hooks, FieldError> {
        let polling = Polling {
            interval: args.interval.to_std(),
            timeout: args.timeout.to_std(),
            ..Polling::default()
        };
        let url = Text::from(&*args.url);
        let feed = Feed {
            name: Text::from(&*format!("{}:{url}", Self::NAME)),
            source: FeedSource::Http { url, polling },
            max_age: args.max_age.to_std(),
            on_stale: args.on_stale,
        };
        let plugin = Self { feed: feed.clone(), field: args.field, prefer: args.prefer };
        let hooks = Hooks::of(plugin).score().enqueue_extensions().feed(feed);
        Ok(if args.on_stale == OnStale::Refuse { hooks.filter().into() } else { hooks.into() })
    }
}

impl Filter for CustomMetric {
    fn filter(&self, cx: Cycle<'_>, _: &CycleState, node: &NodeInfo) -> Outcome {
        self.feed.read(cx, node.name()).map(drop)
    }
}

impl EnqueueExtensions for CustomMetric {
    fn events_to_register(&self) -> Vec<ClusterEventWithHint> {
        let node = ActionType::ADD;
        vec![
            ClusterEventWithHint::always(EventResource::Feed, ActionType::UPDATE),
            ClusterEventWithHint::always(EventResource::Node, node),
        ]
    }
}

impl Score for CustomMetric {
    fn score(&self, cx: Cycle<'_>, _: &CycleState, node: &NodeInfo) -> Outcome<i64> {
        let fact = self.feed.read(cx, node.name())?;
        let number = fact.and_then(|it| it.pointer(&self.field)).and_then(millis);
        Ok(number.map_or(UNKNOWN, |it| it.max(UNKNOWN + 1)))
    }

    fn normalize(&self, _: Cycle<'_>, _: &CycleState, scores: &mut [NodeScore<'_>]) -> Outcome {
        let known = || scores.iter().map(|it| it.score).filter(|it| *it != UNKNOWN).map(i128::from);
        let (least, most) = (known().min(), known().max());
        for it in scores {
            it.score = match (least, most) {
                (Some(least), Some(most)) if it.score != UNKNOWN && least < most => {
                    let above = i128::from(it.score) - least;
                    let points = i128::from(NodeScore::MAX) * above / (most - least);
                    let points = i64::try_from(points).unwrap_or(NodeScore::MAX);
                    match self.prefer {
                        Prefer::Most => points,
                        Prefer::Least => NodeScore::MAX - points,
                    }
                }
                _ => MIDDLE,
            };
        }
        Ok(())
    }
}

/// Thousandths of the number that a value is.
fn millis(value: &Value) -> Option<i64> {
    match value {
        Value::Number(number) => {
            let thousandths = (number.as_f64()? * 1000.0).round();
            #[expect(clippy::cast_possible_truncation, reason = "a cast stops at the last number")]
            Some(thousandths as i64)
        }
        Value::String(text) => Quantity::parse(text).ok().map(|it| it.milli_value()),
        _ => None,
    }
}

/// Stands for a number that nobody knows.
const UNKNOWN: i64 = i64::MIN;
/// The points of a node that is neither good nor bad.
const MIDDLE: i64 = 50;

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use serde_json::json;

    use super::*;
    use crate::test_kit::{Cluster, build};

    const NOW: Duration = Duration::from_secs(200);
    const URL: &str = "/apis/metrics.k8s.io/v1beta1/nodes";

    fn args(on_stale: &str, prefer: &str) -> Value {
        json!({"url": URL, "field": "/usage/cpu", "onStale": on_stale, "prefer": prefer})
    }

    /// The worked example of the page, with a fifth node that has no number.
    fn cluster() -> Cluster {
        let nodes = ["n1", "n2", "n3", "n4", "n5"].map(|it| json!({"metadata": {"name": it}}));
        let feed = format!("CustomMetric:{URL}");
        let cpu = |cpu: Value| json!({"usage": {"cpu": cpu}});
        let ago = |seconds| NOW.saturating_sub(Duration::from_secs(seconds));
        let fresh = ago(10);
        Cluster::new(&nodes)
            .at(NOW)
            .fact(&feed, "n1", cpu(json!("250m")), fresh)
            .fact(&feed, "n2", cpu(json!(1)), fresh)
            .fact(&feed, "n3", cpu(json!("1750m")), fresh)
            .fact(&feed, "n4", cpu(json!("100m")), ago(120))
            .fact(&feed, "n5", cpu(json!("much")), fresh)
    }

    fn web() -> Value {
        json!({"metadata": {"name": "web"}})
    }

    #[test]
    fn the_best_number_gets_100_the_worst_0_and_what_nobody_knows_50() {
        let least = cluster().check::<CustomMetric>(args("Neutral", "Least"), web());
        least.is(&["n1 100", "n2 50", "n3 0", "n4 50", "n5 50"]);
        let most = cluster().check::<CustomMetric>(args("Neutral", "Most"), web());
        most.is(&["n1 0", "n2 50", "n3 100", "n4 50", "n5 50"]);
    }

    #[test]
    fn the_last_number_holds_where_that_is_declared() {
        let last = cluster().check::<CustomMetric>(args("KeepLast", "Least"), web());
        last.is(&["n1 91", "n2 46", "n3 0", "n4 100", "n5 50"]);
    }

    #[test]
    fn a_node_is_refused_for_a_stale_number_where_that_is_declared() {
        let refuse = cluster().check::<CustomMetric>(args("Refuse", "Least"), web());
        let stale = format!("n4 Unschedulable: facts of feed CustomMetric:{URL} are stale");
        refuse.is(&["n1 100", "n2 50", "n3 0", &stale, "n5 50"]);
    }

    #[test]
    fn without_any_number_all_nodes_are_alike() {
        let nodes = ["n1", "n2"].map(|it| json!({"metadata": {"name": it}}));
        let none = Cluster::new(&nodes).check::<CustomMetric>(args("Neutral", "Least"), web());
        none.is(&["n1 50", "n2 50"]);
    }

    #[test]
    fn arguments_without_a_source_or_with_times_of_zero_are_refused() {
        let faulty = CustomMetricArgs {
            field: "usage".to_owned(),
            timeout: GoDuration::from_secs(0),
            ..CustomMetricArgs::default()
        };
        let faults = CustomMetric::validate(&faulty, "args");
        let paths: Vec<_> = faults.iter().map(|it| &*it.path).collect();
        assert_eq!(paths, ["args.url", "args.field", "args.timeout"]);
        assert!(build::<CustomMetric>(&args("Neutral", "Least")).filter.is_none());
    }
}
