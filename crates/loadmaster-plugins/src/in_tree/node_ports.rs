#![doc = include_str!("node_ports.md")]

use loadmaster_framework::{
    ActionType, Candidates, ClusterEventWithHint, Cycle, CycleState, EnqueueExtensions,
    EventResource, FieldError, Filter, Gates, Hint, Hooks, HostPort, HostPortInfo, NodeInfo,
    Outcome, Plugin, PluginError, PreFilter, QueueingHint, Status, api::Pod,
};

use super::hint::former_pod;
use crate::NoArgs;

/// See the [module](self).
#[derive(Debug)]
pub struct NodePorts;

impl Plugin for NodePorts {
    const NAME: &'static str = "NodePorts";
    const DOC: &'static str = include_str!("node_ports.md");
    type Args = NoArgs;

    fn build(NoArgs {}: NoArgs, _: &Gates) -> Result<Hooks, FieldError> {
        Ok(Hooks::of(Self).pre_filter().filter().enqueue_extensions().into())
    }
}

/// The host ports that the pod asks for.
#[derive(Clone, Debug)]
struct Wanted(Vec<HostPort>);

impl PreFilter for NodePorts {
    fn pre_filter(&self, cx: Cycle<'_>, state: &mut CycleState) -> Outcome<Candidates> {
        let wanted: Vec<HostPort> = HostPort::of_pod(cx.pod).collect();
        if wanted.is_empty() {
            return Ok(Candidates::Skip);
        }
        state.put(Wanted(wanted));
        Ok(Candidates::All)
    }
}

impl Filter for NodePorts {
    fn filter(&self, cx: Cycle<'_>, state: &CycleState, node: &NodeInfo) -> Outcome {
        let taken = node.used_ports();
        let conflict = match state.try_get() {
            Some(Wanted(ports)) => ports.iter().any(|it| taken.conflicts(it)),
            None => conflicts(cx.pod, taken),
        };
        if conflict { Err(Status::unschedulable(TAKEN)) } else { Ok(()) }
    }
}

impl EnqueueExtensions for NodePorts {
    fn events_to_register(&self) -> Vec<ClusterEventWithHint> {
        vec![
            ClusterEventWithHint::hinted(EventResource::Pod, ActionType::DELETE),
            ClusterEventWithHint::always(EventResource::Node, ActionType::ADD),
        ]
    }

    fn queueing_hint(&self, hint: Hint<'_>) -> Result<QueueingHint, PluginError> {
        let deleted = former_pod(&hint)?;
        let had_a_place =
            deleted.node_name().is_some() || !deleted.status.nominated_node_name.is_empty();
        let mut freed = HostPortInfo::default();
        freed.add_pod(deleted);
        let helps = had_a_place && conflicts(hint.pod, &freed);
        Ok(if helps { QueueingHint::Queue } else { QueueingHint::Skip })
    }
}

/// Whether a port that `pod` asks for is among those taken.
fn conflicts(pod: &Pod, taken: &HostPortInfo) -> bool {
    HostPort::of_pod(pod).any(|it| taken.conflicts(&it))
}

const TAKEN: &str = "node(s) didn't have free ports for the requested pod ports";

#[cfg(test)]
#[expect(clippy::needless_pass_by_value, reason = "literals of JSON read best passed by value")]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::test_kit::{Cluster, check, pod};

    fn with_port(port: Value) -> Value {
        json!({"metadata": {"name": "p", "uid": "p"}, "spec": {"containers": [{"ports": [port]}]}})
    }

    /// Whether a pod with port `wanted` fits beside one with port `taken`.
    fn fits(taken: Value, wanted: Value) -> bool {
        let cluster =
            Cluster::new(&[json!({"metadata": {"name": "n"}})]).place("n", with_port(taken));
        let verdicts = cluster.check::<NodePorts>(json!(null), with_port(wanted));
        match verdicts.lines()[0].as_str() {
            "n ok" => true,
            line => {
                let why =
                    "n Unschedulable: node(s) didn't have free ports for the requested pod ports";
                assert_eq!(line, why);
                false
            }
        }
    }

    #[test]
    fn one_port_of_one_transport_on_one_address_is_taken_once() {
        let tcp = json!({"hostPort": 8080});
        assert!(!fits(tcp.clone(), tcp.clone()));
        assert!(!fits(tcp.clone(), json!({"hostPort": 8080, "protocol": "TCP"})));
        assert!(fits(tcp.clone(), json!({"hostPort": 8081})));
        // Two transports do not meet (kubernetes#5874).
        assert!(fits(tcp.clone(), json!({"hostPort": 8080, "protocol": "UDP"})));
        // A port of the container alone takes none of the node.
        assert!(fits(tcp, json!({"containerPort": 8080})));
    }

    #[test]
    fn addresses_are_apart_but_every_address_meets_each() {
        let on = |ip: &str| json!({"hostPort": 8080, "hostIP": ip});
        // Two addresses do not meet (kubernetes#51950, #39228).
        assert!(fits(on("10.1.1.1"), on("10.1.1.2")));
        assert!(!fits(on("10.1.1.1"), on("10.1.1.1")));
        for every in ["", "0.0.0.0"] {
            assert!(!fits(on(every), on("10.1.1.1")), "{every:?}");
            assert!(!fits(on("10.1.1.1"), on(every)), "{every:?}");
        }
    }

    #[test]
    fn a_pod_without_host_ports_is_not_looked_at() {
        let nodes = [json!({"metadata": {"name": "n"}})];
        let verdicts =
            check::<NodePorts>(json!(null), with_port(json!({"containerPort": 1})), &nodes);
        assert!(verdicts.skipped_filter());
        assert!(
            !check::<NodePorts>(json!(null), with_port(json!({"hostPort": 1})), &nodes)
                .skipped_filter()
        );
    }

    #[test]
    fn filter_alone_finds_the_same() {
        let taken = with_port(json!({"hostPort": 80}));
        let cluster = Cluster::new(&[json!({"metadata": {"name": "n"}})]).place("n", taken.clone());
        let pod = pod(taken);
        let snapshot = cluster.snapshot();
        let cx = crate::test_kit::cycle(&pod, &snapshot);
        let filtered = NodePorts.filter(cx, &CycleState::default(), &snapshot.nodes()[0]);
        assert_eq!(filtered, Err(Status::unschedulable(TAKEN)));
    }
}
