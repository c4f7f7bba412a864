#![doc = include_str!("node_declared_features.md")]

use loadmaster_framework::{
    ActionType, Candidates, ClusterEventWithHint, Cycle, CycleState, EnqueueExtensions,
    EventResource, FieldError, Filter, Gates, Hint, Hooks, NodeInfo, Outcome, Plugin, PluginError,
    PreFilter, QueueingHint, Status,
    api::{Node, Pod},
};

use super::hint::{changed_node, changed_pod, former_pod};
use crate::NoArgs;

/// See the [module](self).
#[derive(Debug)]
pub struct NodeDeclaredFeatures;

impl Plugin for NodeDeclaredFeatures {
    const NAME: &'static str = "NodeDeclaredFeatures";
    const DOC: &'static str = include_str!("node_declared_features.md");
    type Args = NoArgs;

    fn build(NoArgs {}: NoArgs, _: &Gates) -> Result<Hooks, FieldError> {
        Ok(Hooks::of(Self).pre_filter().filter().enqueue_extensions().into())
    }
}

/// The features that a pod needs of its node, of those that nodes declare in 1.36 and that bear on
/// where a pod can start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Needed {
    restart_all_containers: bool,
    user_namespaces_host_network: bool,
}

impl Needed {
    fn by(pod: &Pod) -> Self {
        let spec = &pod.spec;
        let mut rules = pod.all_containers().flat_map(|it| &it.restart_policy_rules);
        Self {
            restart_all_containers: rules.any(|it| &*it.action == "RestartAllContainers"),
            user_namespaces_host_network: spec.host_network && spec.host_users == Some(false),
        }
    }

    fn is_none(self) -> bool {
        !self.restart_all_containers && !self.user_namespaces_host_network
    }

    fn declared_by(self, node: &Node) -> bool {
        (!self.restart_all_containers || node.has_declared_feature(RESTART_ALL_CONTAINERS))
            && (!self.user_namespaces_host_network
                || node.has_declared_feature(USER_NAMESPACES_HOST_NETWORK))
    }
}

impl PreFilter for NodeDeclaredFeatures {
    fn pre_filter(&self, cx: Cycle<'_>, state: &mut CycleState) -> Outcome<Candidates> {
        let needed = Needed::by(cx.pod);
        if needed.is_none() {
            return Ok(Candidates::Skip);
        }
        state.put(needed);
        Ok(Candidates::All)
    }
}

impl Filter for NodeDeclaredFeatures {
    fn filter(&self, cx: Cycle<'_>, state: &CycleState, node: &NodeInfo) -> Outcome {
        let needed = state.try_get().copied().unwrap_or_else(|| Needed::by(cx.pod));
        if needed.declared_by(node.node()) {
            Ok(())
        } else {
            Err(Status::unresolvable(NOT_DECLARED))
        }
    }
}

impl EnqueueExtensions for NodeDeclaredFeatures {
    fn events_to_register(&self) -> Vec<ClusterEventWithHint> {
        let node = ActionType::ADD | ActionType::UPDATE_NODE_DECLARED_FEATURE;
        vec![
            ClusterEventWithHint::hinted(EventResource::Node, node),
            ClusterEventWithHint::hinted(EventResource::Pod, ActionType::UPDATE),
        ]
    }

    fn queueing_hint(&self, hint: Hint<'_>) -> Result<QueueingHint, PluginError> {
        let helps = if hint.registered.resource == EventResource::Node {
            let (old, new) = changed_node(&hint)?;
            old.is_none_or(|it| it.status.declared_features != new.status.declared_features)
        } else {
            let (old, new) = (former_pod(&hint)?, changed_pod(&hint)?);
            new.uid() == hint.pod.uid() && Needed::by(old) != Needed::by(new)
        };
        Ok(if helps { QueueingHint::Queue } else { QueueingHint::Skip })
    }
}

const RESTART_ALL_CONTAINERS: &str = "RestartAllContainersOnContainerExits";
const USER_NAMESPACES_HOST_NETWORK: &str = "UserNamespacesHostNetworkSupport";
const NOT_DECLARED: &str = "node(s) didn't match Pod's required features";

#[cfg(test)]
#[expect(clippy::needless_pass_by_value, reason = "literals of JSON read best passed by value")]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::test_kit::check;

    fn nodes() -> [Value; 3] {
        let node = |name: &str, features: &[&str]| json!({"metadata": {"name": name}, "status": {"declaredFeatures": features}});
        [
            node("none", &[]),
            node("restart", &[RESTART_ALL_CONTAINERS]),
            node("both", &[RESTART_ALL_CONTAINERS, USER_NAMESPACES_HOST_NETWORK]),
        ]
    }

    #[track_caller]
    fn refused_by(spec: Value, refused: &[&str]) {
        let verdicts = check::<NodeDeclaredFeatures>(json!(null), json!({"spec": spec}), &nodes());
        let line = |name: &str| {
            if refused.contains(&name) {
                let why = "node(s) didn't match Pod's required features";
                format!("{name} UnschedulableAndUnresolvable: {why}")
            } else {
                format!("{name} ok")
            }
        };
        assert_eq!(verdicts.lines(), ["none", "restart", "both"].map(line));
    }

    #[test]
    fn a_node_must_declare_what_the_pod_uses() {
        let restart =
            json!([{"name": "c", "restartPolicyRules": [{"action": "RestartAllContainers"}]}]);
        refused_by(json!({"containers": restart}), &["none"]);
        refused_by(json!({"initContainers": restart}), &["none"]);
        refused_by(json!({"hostNetwork": true, "hostUsers": false}), &["none", "restart"]);
        refused_by(json!({"hostNetwork": true, "hostUsers": true}), &[]);
        refused_by(json!({"hostNetwork": true}), &[]);
        refused_by(json!({"hostUsers": false}), &[]);
        let plain = json!([{"name": "c", "restartPolicyRules": [{"action": "Restart"}]}]);
        refused_by(json!({"containers": plain}), &[]);
    }
}
