//! The file as it is written: v1 types in which absent and zero are told apart where upstream tells
//! them apart.
//!
//! Source: `k8s.io/kube-scheduler/config/v1/types.go` and `k8s.io/component-base/config/v1alpha1`.

use loadmaster_framework::duration::GoDuration;
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use crate::{config::Extender, plugins::Plugins};

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Document {
    pub(crate) api_version: String,
    pub(crate) kind: String,
    pub(crate) parallelism: Option<i32>,
    pub(crate) leader_election: LeaderElection,
    pub(crate) client_connection: ClientConnection,
    pub(crate) enable_profiling: Option<bool>,
    pub(crate) enable_contention_profiling: Option<bool>,
    pub(crate) percentage_of_nodes_to_score: Option<i32>,
    pub(crate) pod_initial_backoff_seconds: Option<i64>,
    pub(crate) pod_max_backoff_seconds: Option<i64>,
    pub(crate) profiles: Vec<Profile>,
    pub(crate) extenders: Vec<Extender>,
    pub(crate) delay_cache_until_active: bool,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct LeaderElection {
    pub(crate) leader_elect: Option<bool>,
    pub(crate) lease_duration: GoDuration,
    pub(crate) renew_deadline: GoDuration,
    pub(crate) retry_period: GoDuration,
    pub(crate) resource_lock: String,
    pub(crate) resource_name: String,
    pub(crate) resource_namespace: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct ClientConnection {
    pub(crate) kubeconfig: String,
    pub(crate) accept_content_types: String,
    pub(crate) content_type: String,
    pub(crate) qps: f32,
    pub(crate) burst: i32,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Profile {
    pub(crate) scheduler_name: Option<String>,
    pub(crate) percentage_of_nodes_to_score: Option<i32>,
    pub(crate) plugins: Option<Plugins>,
    pub(crate) plugin_config: Vec<PluginConfig>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct PluginConfig {
    pub(crate) name: String,
    pub(crate) args: Anything,
}

/// A value of any shape, which is looked at later.
#[derive(Debug, Default)]
pub(crate) struct Anything(pub(crate) Value);

impl<'de> Deserialize<'de> for Anything {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Value::deserialize(deserializer).map(Self)
    }
}
