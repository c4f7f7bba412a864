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

    /// Whether the two are one and the same.
    fn is_same(&self, other: &Self) -> bool {
        (self.port, self.protocol, self.address()) == (other.port, other.protocol, other.address())
    }

    /// Whether the two cannot be taken on one node: the same port of the same transport on the same
    /// address, or on all addresses by one of them.
    pub fn conflicts(&self, other: &Self) -> bool {
        let same_address =
            self.address() == other.address() || self.address() == ANY || other.address() == ANY;
        self.port == other.port && self.protocol == other.protocol && same_address
    }
}

/// All host ports taken on a node.
///
/// As upstream's, this is a set: where two pods hold one port (bound by hand, since no scheduler
/// puts them together), it is free again as soon as one of them is gone. The recorded choices of
/// victims depend on it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HostPortInfo(Vec<HostPort>);

impl HostPortInfo {
    /// Takes the ports of `pod`.
    pub fn add_pod(&mut self, pod: &Pod) {
        for port in HostPort::of_pod(pod) {
            if !self.0.iter().any(|it| it.is_same(&port)) {
                self.0.push(port);
            }
        }
    }

    /// Gives back the ports of `pod`.
    pub fn remove_pod(&mut self, pod: &Pod) {
        for port in HostPort::of_pod(pod) {
            self.0.retain(|it| !it.is_same(&port));
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

#[cfg(test)]
mod tests {
    use super::*;

    fn pod(ports: &str) -> Pod {
        let spec = format!(r#"{{"spec":{{"containers":[{{"name":"c","ports":[{ports}]}}]}}}}"#);
        serde_json::from_str(&spec).unwrap()
    }

    #[test]
    fn a_port_held_twice_is_free_when_one_holder_goes() {
        let (all, any) = (pod(r#"{"hostPort":80}"#), pod(r#"{"hostPort":80,"hostIP":"0.0.0.0"}"#));
        let mut taken = HostPortInfo::default();
        taken.add_pod(&all);
        taken.add_pod(&any);
        assert_eq!(taken.len(), 1);
        taken.remove_pod(&all);
        assert!(taken.is_empty());
    }

    #[test]
    fn giving_back_one_address_keeps_the_others() {
        let one = pod(r#"{"hostPort":80,"hostIP":"10.0.0.1"}"#);
        let two = pod(r#"{"hostPort":80,"hostIP":"10.0.0.2"},{"hostPort":80,"protocol":"UDP"}"#);
        let mut taken = HostPortInfo::default();
        taken.add_pod(&one);
        taken.add_pod(&two);
        taken.remove_pod(&one);
        let wanted = |pod: &Pod| HostPort::of_pod(pod).next().unwrap();
        assert!(!taken.conflicts(&wanted(&one)) && taken.conflicts(&wanted(&two)));
    }
}
