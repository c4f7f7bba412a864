//! What is served, to whom, and with which certificates.
//!
//! Source: apiserver, `pkg/server/options/{serving,authentication,authorization}.go`, with the
//! defaults that kube-scheduler 1.36 sets.

use std::{net::IpAddr, path::PathBuf};

use clap::{ArgAction, ValueEnum};
use loadmaster_framework::duration::GoDuration;

use super::value::boolean;

/// What is served, to whom, and with which certificates.
#[derive(Clone, Debug, clap::Args)]
#[command(next_help_heading = "Serving")]
pub(crate) struct ServingFlags {
    /// The port of HTTPS; 0 serves none; left out, 10259 where nobody else on this machine has it
    #[arg(long, value_name = "PORT")]
    pub(crate) secure_port: Option<u16>,
    /// The address of HTTPS; 0.0.0.0 and :: are every one
    #[arg(long, value_name = "IP", default_value = "0.0.0.0")]
    pub(crate) bind_address: IpAddr,
    /// The port of plain HTTP on 127.0.0.1, open to whoever is on this machine; 0 serves none
    #[arg(long, value_name = "PORT", default_value_t = 0)]
    pub(crate) loopback_http_port: u16,
    /// The server's certificate with its chain, in PEM; without one it is made at the start
    #[arg(long, value_name = "FILE", requires = "tls_private_key_file")]
    pub(crate) tls_cert_file: Option<PathBuf>,
    /// The certificate's key, in PEM
    #[arg(long, value_name = "FILE", requires = "tls_cert_file")]
    pub(crate) tls_private_key_file: Option<PathBuf>,
    /// The folder of `kube-scheduler.crt` and `.key`, which are made where they are not there;
    /// left out, a made certificate is in memory alone
    #[arg(long, value_name = "DIR")]
    pub(crate) cert_dir: Option<PathBuf>,
    /// The oldest TLS that is spoken; nothing older than 1.2 ever is
    #[arg(long, value_name = "VERSION", value_enum, default_value_t)]
    pub(crate) tls_min_version: TlsVersion,
    /// The cipher suites of TLS 1.2 and 1.3, by their IANA names, separated by commas; all that are
    /// safe where this is left out
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub(crate) tls_cipher_suites: Vec<String>,
    /// The groups that keys are exchanged in, by their numbers in TLS (29 is X25519), separated by
    /// commas; all that are safe where this is left out
    #[arg(long, value_name = "NUMBERS", value_delimiter = ',')]
    pub(crate) tls_curve_preferences: Vec<u16>,
    /// Authorities whose client certificates are believed, in PEM
    #[arg(long, value_name = "FILE")]
    pub(crate) client_ca_file: Option<PathBuf>,
    /// The kubeconfig by which tokens are reviewed; left out, that of the scheduler itself
    #[arg(long, value_name = "FILE")]
    pub(crate) authentication_kubeconfig: Option<PathBuf>,
    /// The kubeconfig by which access is reviewed; left out, that of the scheduler itself
    #[arg(long, value_name = "FILE")]
    pub(crate) authorization_kubeconfig: Option<PathBuf>,
    /// Whether the cluster is not asked for its authorities
    #[arg(
        long,
        value_name = "BOOL",
        num_args = 0..=1,
        require_equals = true,
        default_value = "false",
        default_missing_value = "true",
        value_parser = boolean,
        action = ArgAction::Set
    )]
    pub(crate) authentication_skip_lookup: bool,
    /// Whether serving begins though the cluster's authorities could not be read
    #[arg(
        long,
        value_name = "BOOL",
        num_args = 0..=1,
        require_equals = true,
        default_value = "true",
        default_missing_value = "true",
        value_parser = boolean,
        action = ArgAction::Set
    )]
    pub(crate) authentication_tolerate_lookup_failure: bool,
    /// How long a reviewed token is remembered
    #[arg(long, value_name = "DURATION", default_value = "10s")]
    pub(crate) authentication_token_webhook_cache_ttl: GoDuration,
    /// How long a granted access is remembered
    #[arg(long, value_name = "DURATION", default_value = "10s")]
    pub(crate) authorization_webhook_cache_authorized_ttl: GoDuration,
    /// How long a refused access is remembered
    #[arg(long, value_name = "DURATION", default_value = "10s")]
    pub(crate) authorization_webhook_cache_unauthorized_ttl: GoDuration,
    /// Paths that everyone may read, separated by commas; a star at the end stands for any ending
    #[arg(
        long,
        value_name = "PATHS",
        value_delimiter = ',',
        default_values = ["/healthz", "/readyz", "/livez"]
    )]
    pub(crate) authorization_always_allow_paths: Vec<String>,
    /// Authorities whose client certificates may name users in headers, in PEM
    #[arg(long, value_name = "FILE")]
    pub(crate) requestheader_client_ca_file: Option<PathBuf>,
    /// The common names of those certificates, separated by commas; left out, any
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub(crate) requestheader_allowed_names: Vec<String>,
    /// Headers that name the user, separated by commas
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub(crate) requestheader_username_headers: Vec<String>,
    /// Headers that hold the user's uid, separated by commas
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub(crate) requestheader_uid_headers: Vec<String>,
    /// Headers that name the user's groups, separated by commas
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub(crate) requestheader_group_headers: Vec<String>,
    /// What the names of headers with more about the user begin with, separated by commas
    #[arg(long, value_name = "PREFIXES", value_delimiter = ',')]
    pub(crate) requestheader_extra_headers_prefix: Vec<String>,
}

/// A version of TLS, by Go's name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum TlsVersion {
    /// TLS 1.2.
    #[default]
    #[value(name = "VersionTLS12", aliases = ["VersionTLS10", "VersionTLS11"])]
    Tls12,
    /// TLS 1.3.
    #[value(name = "VersionTLS13")]
    Tls13,
}

#[cfg(test)]
mod tests {
    use super::super::tests::parse;
    use super::*;

    #[test]
    fn without_flags_it_serves_as_the_original() {
        let serving = parse(&[]).unwrap().serving;
        assert_eq!(serving.secure_port, None);
        assert!(serving.bind_address.is_unspecified());
        assert_eq!(serving.loopback_http_port, 0);
        assert!(serving.authentication_tolerate_lookup_failure);
        assert!(!serving.authentication_skip_lookup);
        assert_eq!(serving.authentication_token_webhook_cache_ttl, GoDuration::from_secs(10));
        assert_eq!(serving.authorization_always_allow_paths, ["/healthz", "/readyz", "/livez"]);
    }

    #[test]
    fn lists_are_separated_by_commas_or_given_again() {
        let paths = ["--authorization-always-allow-paths=/a,/b"];
        assert_eq!(parse(&paths).unwrap().serving.authorization_always_allow_paths, ["/a", "/b"]);
        let suites = ["--tls-cipher-suites=A,B", "--tls-cipher-suites=C"];
        assert_eq!(parse(&suites).unwrap().serving.tls_cipher_suites, ["A", "B", "C"]);
    }

    #[test]
    fn a_certificate_needs_its_key() {
        let error = parse(&["--tls-cert-file=a"]).unwrap_err().to_string();
        assert!(error.contains("--tls-private-key-file"), "{error}");
    }

    #[test]
    fn the_oldest_tls_goes_by_the_names_of_the_original() {
        let version = |name: &str| {
            parse(&[&format!("--tls-min-version={name}")]).map(|it| it.serving.tls_min_version)
        };
        assert_eq!(version("VersionTLS13").unwrap(), TlsVersion::Tls13);
        assert_eq!(version("VersionTLS10").unwrap(), TlsVersion::Tls12);
        let error = version("1.3").unwrap_err().to_string();
        assert!(error.contains("VersionTLS13"), "{error}");
    }
}
