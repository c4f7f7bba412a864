//! From a loaded configuration to what a profile is built of.

use loadmaster_config::{EffectiveProfile, is_gated};
use loadmaster_framework::Point;

use super::{PluginRef, ProfileSpec};

impl From<&EffectiveProfile> for ProfileSpec {
    fn from(profile: &EffectiveProfile) -> Self {
        let plugins = Point::ALL.iter().map(|&point| {
            let names = profile.plugins_at(point).iter().filter(|it| !is_gated(it));
            let weight = |name: &String| match point {
                Point::Score => profile.score_weights.get(name).copied().unwrap_or(1),
                _ => 1,
            };
            (point, names.map(|it| PluginRef { name: it.clone(), weight: weight(it) }).collect())
        });
        Self {
            scheduler_name: profile.scheduler_name.clone(),
            // Validation has kept it in 0..=100.
            percentage_of_nodes_to_score: profile
                .percentage_of_nodes_to_score
                .and_then(|it| u32::try_from(it).ok()),
            plugins: plugins.collect(),
            args: profile.args.clone(),
        }
    }
}
