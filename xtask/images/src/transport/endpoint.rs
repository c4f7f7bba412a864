//! Where a registry is, and how it is spoken to.

use std::{collections::BTreeMap, fmt, net::IpAddr};

use crate::topology::RegistryPlace;

/// A registry as it is named, and as it is reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Endpoint {
    name: String,
    authority: String,
    plain: bool,
}

impl Endpoint {
    /// The registry `name`, `HOST` or `HOST:PORT`.
    ///
    /// It is spoken to in plain HTTP on the loopback, where its place says so, and where `insecure`
    /// lists its name; in TLS otherwise. A place's address is used without asking a resolver, for
    /// plain HTTP alone: in TLS the name must be the one that the certificate has, so there a
    /// resolver has to know it.
    pub fn new(name: &str, places: &BTreeMap<String, RegistryPlace>, insecure: &[String]) -> Self {
        let place = places.get(name);
        let plain = is_loopback(name)
            || place.is_some_and(|it| it.plain_http)
            || insecure.iter().any(|it| it == name);
        let authority = place.filter(|_| plain).map_or(name, |it| &it.address);
        Self { name: name.to_owned(), authority: authority.to_owned(), plain }
    }

    /// The name, as in an image's reference.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Host and port to connect to.
    pub fn authority(&self) -> &str {
        &self.authority
    }

    /// Whether it is spoken to in plain HTTP.
    pub fn is_plain(&self) -> bool {
        self.plain
    }

    /// What `curl` would be given.
    pub fn url(&self) -> String {
        let scheme = if self.plain { "http" } else { "https" };
        format!("{scheme}://{}", self.authority)
    }
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.url())?;
        if self.authority == self.name { Ok(()) } else { write!(f, " ({})", self.name) }
    }
}

/// Whether the registry is on this machine by its very name.
fn is_loopback(name: &str) -> bool {
    let host = match name.rsplit_once(':') {
        // The colons of an IPv6 address without a port stand in brackets.
        Some((host, port)) if !port.contains(']') => host,
        _ => name,
    };
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    host == "localhost" || bare.parse().is_ok_and(|it: IpAddr| it.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn endpoint(name: &str, insecure: &[&str]) -> String {
        let place = |plain_http| RegistryPlace { address: "127.0.0.1:5000".into(), plain_http };
        let places = [("forge.lab:5000", place(true)), ("safe.lab", place(false))];
        let places = places.map(|(name, place)| (name.to_owned(), place)).into();
        let insecure: Vec<String> = insecure.iter().map(|it| (*it).to_owned()).collect();
        Endpoint::new(name, &places, &insecure).to_string()
    }

    #[test]
    fn only_named_registries_and_the_loopback_are_spoken_to_in_the_clear() {
        assert_eq!(endpoint("localhost:5000", &[]), "http://localhost:5000");
        assert_eq!(endpoint("[::1]:5000", &[]), "http://[::1]:5000");
        assert_eq!(endpoint("127.0.0.2", &[]), "http://127.0.0.2");
        assert_eq!(endpoint("ghcr.io", &[]), "https://ghcr.io");
        assert_eq!(endpoint("10.0.0.1:5000", &[]), "https://10.0.0.1:5000");
        assert_eq!(endpoint("10.0.0.1:5000", &["10.0.0.1:5000"]), "http://10.0.0.1:5000");
        assert_eq!(endpoint("10.0.0.1:5000", &["10.0.0.1"]), "https://10.0.0.1:5000");
    }

    #[test]
    fn a_registry_of_the_topology_is_reached_at_its_address() {
        let forge = "http://127.0.0.1:5000 (forge.lab:5000)";
        assert_eq!(endpoint("forge.lab:5000", &[]), forge);
        assert_eq!(endpoint("safe.lab", &[]), "https://safe.lab");
        let named = "http://127.0.0.1:5000 (safe.lab)";
        assert_eq!(endpoint("safe.lab", &["safe.lab"]), named);
    }
}
