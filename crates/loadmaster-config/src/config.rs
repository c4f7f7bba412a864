//! The configuration with its defaults filled in.
//!
//! Source: `pkg/scheduler/apis/config/types.go` and `apis/config/v1/defaults.go`, 1.36.

use std::collections::BTreeMap;

use base64::{Engine as _, engine};
use loadmaster_framework::duration::GoDuration;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

use crate::{error::Place, plugins::Plugins, written};

/// `apiVersion` of the files that are read.
pub const API_VERSION: &str = "kubescheduler.config.k8s.io/v1";
/// `kind` of the files that are read.
pub const KIND: &str = "KubeSchedulerConfiguration";

/// `parallelism` where nothing is written.
pub const DEFAULT_PARALLELISM: i32 = 16;

/// A scheduler's configuration after defaulting.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct KubeSchedulerConfiguration {
    /// How many threads filter and score with; default [`DEFAULT_PARALLELISM`].
    pub parallelism: i32,
    /// Whether and how one of several schedulers is chosen to work.
    pub leader_election: LeaderElection,
    /// How the API server is reached.
    pub client_connection: ClientConnection,
    /// Whether `/debug/pprof` is served; default true.
    pub enable_profiling: bool,
    /// Whether lock contention is profiled too; default as `enable_profiling`.
    pub enable_contention_profiling: bool,
    /// Part of the nodes to look for feasible ones among, in percent; 0 is adaptive.
    pub percentage_of_nodes_to_score: i32,
    /// First wait of a pod that could not be scheduled, in seconds; default 1.
    pub pod_initial_backoff_seconds: i64,
    /// Longest wait of such a pod, in seconds; default 10.
    pub pod_max_backoff_seconds: i64,
    /// The profiles, at least one.
    pub profiles: Vec<Profile>,
    /// HTTP extenders.
    pub extenders: Vec<Extender>,
    /// Whether caches fill only once this scheduler leads.
    pub delay_cache_until_active: bool,
    /// Where the fields stand in the text.
    pub(crate) places: Places,
}

/// Whether and how one of several schedulers is chosen to work.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct LeaderElection {
    /// Whether there is an election; default true.
    pub leader_elect: bool,
    /// How long others wait for a silent leader; default 15s.
    pub lease_duration: GoDuration,
    /// How long a leader tries to renew before it gives up; default 10s.
    pub renew_deadline: GoDuration,
    /// Time between tries; default 2s.
    pub retry_period: GoDuration,
    /// `leases`.
    pub resource_lock: String,
    /// The lease's name; default `kube-scheduler`.
    pub resource_name: String,
    /// The lease's namespace; default `kube-system`.
    pub resource_namespace: String,
}

/// How the API server is reached.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ClientConnection {
    /// Path of a kubeconfig file; empty is the usual search, or the service account in a pod.
    pub kubeconfig: String,
    /// Value of the `Accept` header; empty is `content_type`.
    pub accept_content_types: String,
    /// Default `application/vnd.kubernetes.protobuf`.
    pub content_type: String,
    /// Requests a second, in the long run; default 50.
    #[serde(serialize_with = "shortest")]
    pub qps: f32,
    /// Requests at once; default 100.
    pub burst: i32,
}

/// What holds for the pods that name one `schedulerName`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Profile {
    /// The `schedulerName` that pods ask for; a single profile without one is `default-scheduler`.
    pub scheduler_name: String,
    /// Overrides the number of the same name of the configuration.
    pub percentage_of_nodes_to_score: Option<i32>,
    /// The defaults with what is written laid over them.
    pub plugins: Plugins,
    /// The plugins as they are written.
    pub written: Plugins,
    /// Arguments, those of plugins that are enabled and have none written included.
    pub plugin_config: Vec<PluginConfig>,
}

/// The arguments of a plugin.
#[derive(Clone, Debug, PartialEq)]
pub struct PluginConfig {
    /// The plugin's name.
    pub name: String,
    /// Its arguments.
    pub args: Args,
    /// What is written of typed arguments; with other arguments, nothing.
    pub(crate) written: Value,
}

/// The arguments of a plugin, as far as they could be understood.
#[derive(Clone, Debug, PartialEq)]
pub enum Args {
    /// None are written, and the plugin takes none or is unknown.
    None,
    /// The plugin takes none or is unknown: what is written, as it is.
    Raw(Value),
    /// The plugin's own, defaults filled in, without `apiVersion` and `kind`.
    Typed(Value),
}

impl Args {
    /// The typed arguments, if they are.
    pub const fn typed(&self) -> Option<&Value> {
        match self {
            Self::Typed(value) => Some(value),
            Self::None | Self::Raw(_) => None,
        }
    }
}

/// An HTTP extender.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Extender {
    /// Where it answers.
    #[serde(rename = "urlPrefix")]
    pub url_prefix: String,
    /// Path of its filter call; empty is no such call.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub filter_verb: String,
    /// Path of its preempt call; empty is no such call.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub preempt_verb: String,
    /// Path of its prioritize call; empty is no such call.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub prioritize_verb: String,
    /// How much its scores count; must be positive where there is a prioritize call.
    #[serde(skip_serializing_if = "is_default")]
    pub weight: i64,
    /// Path of its bind call; empty is no such call. At most one extender has one.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub bind_verb: String,
    /// Whether to speak TLS even without `tls_config`.
    #[serde(rename = "enableHTTPS", skip_serializing_if = "is_default")]
    pub enable_https: bool,
    /// Certificates.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tls_config: Option<ExtenderTlsConfig>,
    /// How long a call may take; default 5s.
    pub http_timeout: GoDuration,
    /// Whether it keeps nodes itself, so that names are sent instead of nodes.
    #[serde(skip_serializing_if = "is_default")]
    pub node_cache_capable: bool,
    /// The extended resources that it decides on; empty is every pod.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub managed_resources: Vec<ExtenderManagedResource>,
    /// Whether scheduling goes on without it when it does not answer.
    #[serde(skip_serializing_if = "is_default")]
    pub ignorable: bool,
}

/// An extended resource that an extender decides on.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ExtenderManagedResource {
    /// The resource's name.
    pub name: String,
    /// Whether `NodeResourcesFit` leaves it to the extender.
    #[serde(skip_serializing_if = "is_default")]
    pub ignored_by_scheduler: bool,
}

/// The certificates of the connection to an extender.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ExtenderTlsConfig {
    /// Whether the server's certificate goes unchecked; for tests.
    #[serde(skip_serializing_if = "is_default")]
    pub insecure: bool,
    /// The name to expect in the server's certificate.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub server_name: String,
    /// File of the client's certificate.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub cert_file: String,
    /// File of the client's key.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub key_file: String,
    /// File of the authorities trusted.
    #[serde(rename = "caFile", skip_serializing_if = "String::is_empty")]
    pub ca_file: String,
    /// The client's certificate; takes precedence over the file.
    #[serde(skip_serializing_if = "is_default")]
    pub cert_data: Base64,
    /// The client's key; takes precedence over the file.
    #[serde(skip_serializing_if = "is_default")]
    pub key_data: Base64,
    /// The authorities trusted; takes precedence over the file.
    #[serde(rename = "caData", skip_serializing_if = "is_default")]
    pub ca_data: Base64,
}

/// Bytes that are written in base64.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Base64(pub Vec<u8>);

/// Go reads padded base64 with line breaks in it and does not look at the bits left over.
const BASE64: engine::GeneralPurpose = engine::GeneralPurpose::new(
    &base64::alphabet::STANDARD,
    engine::GeneralPurposeConfig::new().with_decode_allow_trailing_bits(true),
);

impl Serialize for Base64 {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&BASE64.encode(&self.0))
    }
}

impl<'de> Deserialize<'de> for Base64 {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut text = String::deserialize(deserializer)?;
        text.retain(|it| !matches!(it, '\r' | '\n'));
        BASE64.decode(text).map(Self).map_err(serde::de::Error::custom)
    }
}

/// Where the fields of a configuration stand in its text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Places(pub(crate) BTreeMap<String, Place>);

impl Places {
    /// The place of `path`, or of the nearest field around it that has one.
    pub(crate) fn find(&self, path: &str) -> Option<Place> {
        let mut path = path;
        loop {
            if let Some(place) = self.0.get(path) {
                return Some(*place);
            }
            path = &path[..path.rfind(['.', '['])?];
        }
    }
}

impl From<written::LeaderElection> for LeaderElection {
    fn from(it: written::LeaderElection) -> Self {
        let or = |given: GoDuration, seconds| {
            if given == GoDuration::ZERO { GoDuration::from_secs(seconds) } else { given }
        };
        Self {
            leader_elect: it.leader_elect.unwrap_or(true),
            lease_duration: or(it.lease_duration, 15),
            renew_deadline: or(it.renew_deadline, 10),
            retry_period: or(it.retry_period, 2),
            resource_lock: non_empty(it.resource_lock, "leases"),
            resource_name: non_empty(it.resource_name, "kube-scheduler"),
            resource_namespace: non_empty(it.resource_namespace, "kube-system"),
        }
    }
}

impl From<written::ClientConnection> for ClientConnection {
    fn from(it: written::ClientConnection) -> Self {
        Self {
            kubeconfig: it.kubeconfig,
            accept_content_types: it.accept_content_types,
            content_type: non_empty(it.content_type, "application/vnd.kubernetes.protobuf"),
            qps: if it.qps == 0.0 { 50.0 } else { it.qps },
            burst: if it.burst == 0 { 100 } else { it.burst },
        }
    }
}

fn non_empty(given: String, default: &str) -> String {
    if given.is_empty() { default.to_owned() } else { given }
}

/// Whether a value is what an absent field comes to.
pub(crate) fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// Writes a 32-bit float with as few digits as tell it from its neighbours, a whole one without
/// any behind the point, as Go does.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature that serde calls")]
fn shortest<S: Serializer>(value: &f32, serializer: S) -> Result<S::Ok, S::Error> {
    let exact: f64 = value.to_string().parse().unwrap_or_else(|_| f64::from(*value));
    if exact.fract() == 0.0 && exact.abs() < 1e15 {
        #[expect(clippy::cast_possible_truncation, reason = "the range is checked")]
        return serializer.serialize_i64(exact as i64);
    }
    serializer.serialize_f64(exact)
}
