#![doc = include_str!("pod_topology_spread.md")]

mod constraint;
mod default_selector;
mod domains;
mod filtering;
mod hints;
mod scoring;

#[cfg(test)]
mod tests;

use loadmaster_framework::{
    FieldError, Gates, Hooks, Kind, Listers, Plugin,
    api::{NodeInclusionPolicy, Pod, TopologySpreadConstraint, UnsatisfiableConstraintAction},
};

use self::constraint::Constraint;
use super::args::{DefaultConstraint, PodTopologySpreadArgs};

/// See the [module](self).
#[derive(Debug)]
pub struct PodTopologySpread {
    /// What holds for pods without constraints of their own; selectors are deduced for each pod.
    defaults: Vec<TopologySpreadConstraint>,
    /// Whether `defaults` are the built-in ones.
    system_defaulted: bool,
}

impl Plugin for PodTopologySpread {
    const NAME: &'static str = "PodTopologySpread";
    const DOC: &'static str = include_str!("pod_topology_spread.md");
    type Args = PodTopologySpreadArgs;

    fn validate(args: &Self::Args, path: &str) -> Vec<FieldError> {
        args.validate(path)
    }

    fn build(args: Self::Args, _: &Gates) -> Result<Hooks, FieldError> {
        let system_defaulted = args.defaulting_type == "System";
        let defaults = if system_defaulted {
            system_defaults()
        } else {
            args.default_constraints.iter().filter_map(default_constraint).collect()
        };
        // The selectors of defaults come from a pod's services and owners.
        let deduced_from: &[Kind] = if defaults.is_empty() {
            &[]
        } else {
            &[Kind::Service, Kind::ReplicationController, Kind::ReplicaSet, Kind::StatefulSet]
        };
        let plugin = Self { defaults, system_defaulted };
        let hooks = Hooks::of(plugin).pre_filter().filter().pre_score().score();
        Ok(hooks.enqueue_extensions().reads(deduced_from).into())
    }
}

impl PodTopologySpread {
    /// The constraints of `pod` with this `action`, its own ones or the defaults.
    ///
    /// # Errors
    /// Upstream's text when a selector of the pod is wrong.
    fn constraints(
        &self,
        pod: &Pod,
        listers: &Listers,
        action: UnsatisfiableConstraintAction,
    ) -> Result<Vec<Constraint>, String> {
        let own = &pod.spec.topology_spread_constraints;
        if !own.is_empty() {
            let own = own.iter().filter(|it| it.when_unsatisfiable == action);
            let compiled = own.map(|it| Constraint::of_pod(it, pod)).collect::<Result<_, _>>();
            return compiled.map_err(|error| {
                let hard = action == UnsatisfiableConstraintAction::DoNotSchedule;
                let kind = if hard { "hard" } else { "soft" };
                format!("obtaining pod's {kind} topology spread constraints: {error}")
            });
        }
        let mut defaults =
            self.defaults.iter().filter(|it| it.when_unsatisfiable == action).peekable();
        if defaults.peek().is_none() {
            return Ok(Vec::new());
        }
        let selector = default_selector::of(pod, listers);
        if selector.is_empty() {
            return Ok(Vec::new());
        }
        Ok(defaults.map(|it| Constraint::new(it, selector.clone(), pod)).collect())
    }
}

/// Spread over nodes and, more loosely, over zones.
fn system_defaults() -> Vec<TopologySpreadConstraint> {
    let soft = |key: &str, max_skew| TopologySpreadConstraint {
        max_skew,
        topology_key: key.into(),
        when_unsatisfiable: UnsatisfiableConstraintAction::ScheduleAnyway,
        ..TopologySpreadConstraint::default()
    };
    vec![soft(HOSTNAME, 3), soft(ZONE, 5)]
}

/// Reads a constraint of the arguments; one with an unknown action (which validation refuses)
/// is about nothing. Its `matchLabelKeys` have no effect, as upstream: the deduced selector takes
/// the place of the one that they would narrow.
fn default_constraint(from: &DefaultConstraint) -> Option<TopologySpreadConstraint> {
    let when_unsatisfiable = match &*from.when_unsatisfiable {
        "DoNotSchedule" => UnsatisfiableConstraintAction::DoNotSchedule,
        "ScheduleAnyway" => UnsatisfiableConstraintAction::ScheduleAnyway,
        _ => return None,
    };
    let policy = |word: &Option<String>| {
        word.as_deref().map(|it| match it {
            "Honor" => NodeInclusionPolicy::Honor,
            _ => NodeInclusionPolicy::Ignore,
        })
    };
    Some(TopologySpreadConstraint {
        max_skew: from.max_skew,
        topology_key: from.topology_key.as_str().into(),
        when_unsatisfiable,
        min_domains: from.min_domains,
        node_affinity_policy: policy(&from.node_affinity_policy),
        node_taints_policy: policy(&from.node_taints_policy),
        ..TopologySpreadConstraint::default()
    })
}

const HOSTNAME: &str = "kubernetes.io/hostname";
const ZONE: &str = "topology.kubernetes.io/zone";
