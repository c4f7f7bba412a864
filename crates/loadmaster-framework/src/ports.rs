//! Host ports taken on a node.

use crate::api::{Pod, Protocol, Text};

/// One port taken, or asked for, on a node.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct HostPort {
    /// The address; empty or `0.0.0.0` is all of them.
    pub ip: Text,
    /// The transport.
    pub protocol: Protocol,
    /// The port, 1..=65535.
    pub port: i32,
}

const ANY: &str = "0.0.0.0";

impl HostPort {
    /// Every host port of `pod`: of its containers and its sidecars, where one is asked for
    /// (upstream: `util.GetHostPorts`).
    pub fn of_pod(pod: &Pod) -> impl Iterator<Item = Self> {
        let sidecars = pod.spec.init_containers.iter().filter(|it| it.is_sidecar());
        let ports = sidecars.chain(&pod.spec.containers).flat_map(|it| &it.ports);
        ports.filter(|it| it.host_port > 0).map(|it| Self {
            ip: it.host_ip.clone(),
            protocol: it.protocol,
            port: it.host_port,
        })
    }

    fn address(&self) -> &str {
        if self.ip.is_empty() { ANY } else { &self.ip }
    }

    /// Whether the two cannot be taken on one node: the same port of the same transport on the same
    /// address, or on all addresses by one of them.
    pub fn conflicts(&self, other: &Self) -> bool {
        let same_address =
            self.address() == other.address() || self.address() == ANY || other.address() == ANY;
        self.port == other.port && self.protocol == other.protocol && same_address
    }
}

/// All host ports taken on a node. A port taken by two pods (bound by others, say) stays taken
/// until both are gone.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HostPortInfo(Vec<HostPort>);

impl HostPortInfo {
    /// Takes the ports of `pod`.
    pub fn add_pod(&mut self, pod: &Pod) {
        self.0.extend(HostPort::of_pod(pod));
    }

    /// Gives back the ports of `pod`.
    pub fn remove_pod(&mut self, pod: &Pod) {
        for port in HostPort::of_pod(pod) {
            if let Some(at) = self.0.iter().position(|it| *it == port) {
                self.0.swap_remove(at);
            }
        }
    }

    /// Whether any port stands against taking `wanted`.
    pub fn conflicts(&self, wanted: &HostPort) -> bool {
        self.0.iter().any(|it| it.conflicts(wanted))
    }

    /// How many ports are taken.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether none is taken.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}
