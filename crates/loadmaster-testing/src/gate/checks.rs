//! What is checked.

use loadmaster_framework::Plugin;
use loadmaster_plugins::academy::{cache_locality::CacheLocality, concentrate::Concentrate};

use super::broken;
use crate::{
    Harness, Placement,
    builders::{PodBuilder, node, pod},
};

/// Something that must hold.
#[derive(Clone, Copy, Debug)]
pub struct Check {
    /// What must hold, as a sentence.
    pub name: &'static str,
    /// How the plugins are broken to see the check fail.
    pub fault: &'static str,
    /// The plugins as they are.
    pub(super) sound: fn() -> Harness,
    /// The plugins broken on purpose.
    pub(super) broken: fn() -> Harness,
    /// Says what does not hold.
    pub(super) run: fn(Harness) -> Result<(), String>,
}

/// Every check.
pub const CHECKS: &[Check] = &[
    Check {
        name: "more matching pods score higher",
        fault: "Concentrate counts the pods that do not match",
        sound: framework::<CacheLocality, Concentrate>,
        broken: framework::<CacheLocality, broken::CountsTheOthers>,
        run: more_matching_pods_score_higher,
    },
    Check {
        name: "normalisation maps the raw range onto 0..=100",
        fault: "Concentrate does not normalise",
        sound: framework::<CacheLocality, Concentrate>,
        broken: framework::<CacheLocality, broken::NeverNormalises>,
        run: normalisation_maps_the_raw_range,
    },
    Check {
        name: "an empty cluster gives equal scores and no error",
        fault: "Concentrate divides by the range of the counts, which is 0",
        sound: framework::<CacheLocality, Concentrate>,
        broken: framework::<CacheLocality, broken::DividesByTheRange>,
        run: an_empty_cluster_gives_equal_scores,
    },
    Check {
        name: "terminating pods and other namespaces do not count",
        fault: "Concentrate counts every pod on the node",
        sound: framework::<CacheLocality, Concentrate>,
        broken: framework::<CacheLocality, broken::CountsEveryPod>,
        run: only_living_pods_of_the_namespace_count,
    },
    Check {
        name: "a node that drains its cache is refused",
        fault: "CacheLocality's filter lets every node pass",
        sound: framework::<CacheLocality, Concentrate>,
        broken: framework::<broken::NeverRefuses, Concentrate>,
        run: a_drained_node_is_refused,
    },
    Check {
        name: "a warm node is preferred, and a pod without a dataset matches nothing",
        fault: "CacheLocality takes two missing labels for equal",
        sound: framework::<CacheLocality, Concentrate>,
        broken: framework::<broken::MissingMatchesMissing, Concentrate>,
        run: a_warm_node_is_preferred,
    },
];

/// A framework with these plugins, and three nodes.
fn framework<A: Plugin, B: Plugin>() -> Harness {
    let warm = node("n1").label("cache/warm-for", "images");
    Harness::new().plugin::<A>().plugin::<B>().nodes([warm, node("n2"), node("n3")])
}

fn web(name: &str) -> PodBuilder {
    pod(name).label("app", "web")
}

/// Three matching pods on `n1`, one on `n2`, none on `n3`.
fn crowded(harness: Harness) -> Harness {
    let on = |node: &str, name: &str| web(name).node(node);
    harness.pods([on("n1", "a"), on("n1", "b"), on("n1", "c"), on("n2", "d")])
}

fn no_error(placement: &Placement) -> Result<(), String> {
    match &placement.trial().error {
        Some(error) => Err(format!("the cycle must not fail, but did: {error}")),
        None => Ok(()),
    }
}

fn must_be(placement: &Placement, plugin: &str, expected: &[(&str, i64)]) -> Result<(), String> {
    no_error(placement)?;
    let scores = placement.scores(plugin);
    if scores == expected {
        return Ok(());
    }
    let told = |scores: &[(&str, i64)]| {
        scores.iter().map(|(node, it)| format!("{node} {it}")).collect::<Vec<_>>().join(", ")
    };
    Err(format!("{plugin} must score {}, but scored {}", told(expected), told(&scores)))
}

fn more_matching_pods_score_higher(harness: Harness) -> Result<(), String> {
    let placement = crowded(harness).place(web("p"));
    no_error(&placement)?;
    let [three, one, none] = ["n1", "n2", "n3"].map(|node| placement.score("Concentrate", node));
    if three > one && one > none {
        return Ok(());
    }
    Err(format!(
        "nodes with 3, 1 and 0 matching pods must score in that order, but scored {three}, {one} \
         and {none}"
    ))
}

fn normalisation_maps_the_raw_range(harness: Harness) -> Result<(), String> {
    let placement = crowded(harness).place(web("p"));
    // Counts of 3, 1 and 0: 100 * 1 / 3, rounded down, is 33.
    must_be(&placement, "Concentrate", &[("n1", 100), ("n2", 33), ("n3", 0)])
}

#[expect(clippy::needless_pass_by_value, reason = "the checks have one signature")]
fn an_empty_cluster_gives_equal_scores(harness: Harness) -> Result<(), String> {
    let placement = harness.place(web("p"));
    no_error(&placement)?;
    let scores = placement.scores("Concentrate");
    let equal = scores.len() == 3 && scores.iter().all(|(_, it)| *it == scores[0].1);
    if equal { Ok(()) } else { Err(format!("three scores must be equal, but are {scores:?}")) }
}

fn only_living_pods_of_the_namespace_count(harness: Harness) -> Result<(), String> {
    let placement = harness
        .pods([
            web("a").node("n1"),
            web("going").node("n2").terminating(),
            web("elsewhere").namespace("other").node("n2"),
        ])
        .place(web("p"));
    must_be(&placement, "Concentrate", &[("n1", 100), ("n2", 0), ("n3", 0)])
}

fn a_drained_node_is_refused(harness: Harness) -> Result<(), String> {
    let placement = harness.nodes([node("n2").label("cache/drained", "true")]).place(web("p"));
    no_error(&placement)?;
    let reasons = placement.reasons("n2");
    if reasons == ["node is draining its cache"] {
        return Ok(());
    }
    Err(format!("n2 drains its cache and must be refused for it, but its reasons are {reasons:?}"))
}

#[expect(clippy::needless_pass_by_value, reason = "the checks have one signature")]
fn a_warm_node_is_preferred(harness: Harness) -> Result<(), String> {
    let plain = harness.place(web("p"));
    must_be(&plain, "CacheLocality", &[("n1", 0), ("n2", 0), ("n3", 0)])?;
    let placement = harness.place(web("p").label("dataset", "images"));
    must_be(&placement, "CacheLocality", &[("n1", 100), ("n2", 0), ("n3", 0)])
}
