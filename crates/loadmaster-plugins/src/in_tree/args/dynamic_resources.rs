use loadmaster_framework::{
    duration::GoDuration,
    field::{FieldError, child, quoted},
};
use serde::{Deserialize, Serialize};

/// Arguments of `DynamicResources`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct DynamicResourcesArgs {
    /// How long allocating may take per node and cycle; zero is no limit. Default 10s.
    pub filter_timeout: GoDuration,
    /// How long binding waits for devices to be ready; at least 1s. Default 10m.
    pub binding_timeout: GoDuration,
}

impl Default for DynamicResourcesArgs {
    fn default() -> Self {
        Self {
            filter_timeout: GoDuration::from_secs(10),
            binding_timeout: GoDuration::from_secs(600),
        }
    }
}

impl DynamicResourcesArgs {
    /// What is wrong with the values, if anything; `path` is where the arguments stand.
    pub fn validate(&self, path: &str) -> Vec<FieldError> {
        let mut errors = Vec::new();
        let mut check = |name: &str, value: GoDuration, least: GoDuration, detail: &str| {
            if value < least {
                let shown = quoted(&value.to_string());
                errors.push(FieldError::invalid(child(path, name), shown, detail));
            }
        };
        check("filterTimeout", self.filter_timeout, GoDuration::ZERO, "must be zero or positive");
        let second = GoDuration::from_secs(1);
        check("bindingTimeout", self.binding_timeout, second, "must be at least 1 second");
        errors
    }
}
