use loadmaster_framework::field::{FieldError, child};
use serde::{Deserialize, Serialize};

use super::{UtilizationShapePoint, optional_list};

/// Arguments of `VolumeBinding`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct VolumeBindingArgs {
    /// How long binding waits for volumes, in seconds: not negative, default 600.
    pub bind_timeout_seconds: i64,
    /// Scoring by storage capacity, whose gate is off in 1.36: even an empty list is refused.
    #[serde(deserialize_with = "optional_list", skip_serializing_if = "Option::is_none")]
    pub shape: Option<Vec<UtilizationShapePoint>>,
}

impl Default for VolumeBindingArgs {
    fn default() -> Self {
        Self { bind_timeout_seconds: 600, shape: None }
    }
}

impl VolumeBindingArgs {
    /// What is wrong with the values, if anything; `path` is where the arguments stand.
    pub fn validate(&self, path: &str) -> Vec<FieldError> {
        let mut errors = Vec::new();
        let seconds = self.bind_timeout_seconds;
        if seconds < 0 {
            let detail = "invalid BindTimeoutSeconds, should not be a negative value";
            errors.push(FieldError::invalid(child(path, "bindTimeoutSeconds"), seconds, detail));
        }
        if let Some(shape) = &self.shape {
            let points = shape
                .iter()
                .map(|it| format!(r#"{{"Utilization":{},"Score":{}}}"#, it.utilization, it.score));
            let shown = format!("[{}]", points.collect::<Vec<_>>().join(","));
            let detail = "unexpected field `shape`, remove it or turn on the feature gate \
                          StorageCapacityScoring";
            errors.push(FieldError::invalid(child(path, "shape"), shown, detail));
        }
        errors
    }
}
