//! The plugins of Loadmaster: kube-scheduler's default set, and those of the course.
//!
//! [`in_tree`] holds upstream's plugins, with upstream's decisions to the point and the letter;
//! [`academy`] those that the labs are about. [`registry`] knows them all. A plugin is a module, its
//! page (shown by rustdoc and by `scheduler explain`) and its tests; it depends on
//! `loadmaster-framework` alone.

pub mod academy;
pub mod in_tree;

#[cfg(test)]
#[expect(clippy::needless_pass_by_value, reason = "literals of JSON read best passed by value")]
mod test_kit;

use loadmaster_framework::{BuildError, Plugin, Registry};

/// The arguments of a plugin that has none; any field is an error.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NoArgs {}

/// Every plugin of this crate, in the order of upstream's default profile, then the course's.
///
/// A scheduler with plugins of its own starts from here and [registers](Registry::register) more.
pub fn registry() -> Registry {
    use academy::{
        cache_locality::CacheLocality, concentrate::Concentrate, custom_metric::CustomMetric,
    };
    let mut registry = in_tree_registry();
    registry
        .register::<CacheLocality>()
        .and_then(|()| registry.register::<Concentrate>())
        .and_then(|()| registry.register::<CustomMetric>())
        .expect("no two plugins of this crate share a name");
    registry
}

/// Upstream's plugins alone.
pub fn in_tree_registry() -> Registry {
    let mut registry = Registry::default();
    register_in_tree(&mut registry).expect("no two plugins of this crate share a name");
    registry
}

fn register_in_tree(registry: &mut Registry) -> Result<(), BuildError> {
    use in_tree::{
        default_binder::DefaultBinder, default_preemption::DefaultPreemption,
        dynamic_resources::DynamicResources, image_locality::ImageLocality,
        inter_pod_affinity::InterPodAffinity, node_affinity::NodeAffinity,
        node_declared_features::NodeDeclaredFeatures, node_name::NodeName, node_ports::NodePorts,
        node_resources_balanced_allocation::NodeResourcesBalancedAllocation,
        node_resources_fit::NodeResourcesFit, node_unschedulable::NodeUnschedulable,
        node_volume_limits::NodeVolumeLimits, pod_topology_spread::PodTopologySpread,
        priority_sort::PrioritySort, scheduling_gates::SchedulingGates,
        taint_toleration::TaintToleration, volume_binding::VolumeBinding,
        volume_restrictions::VolumeRestrictions, volume_zone::VolumeZone,
    };
    fn add<P: Plugin>(registry: &mut Registry) -> Result<(), BuildError> {
        registry.register::<P>()
    }
    let all = [
        add::<SchedulingGates>,
        add::<PrioritySort>,
        add::<NodeUnschedulable>,
        add::<NodeName>,
        add::<TaintToleration>,
        add::<NodeAffinity>,
        add::<NodePorts>,
        add::<NodeResourcesFit>,
        add::<VolumeRestrictions>,
        add::<NodeVolumeLimits>,
        add::<VolumeBinding>,
        add::<VolumeZone>,
        add::<PodTopologySpread>,
        add::<InterPodAffinity>,
        add::<DynamicResources>,
        add::<DefaultPreemption>,
        add::<NodeResourcesBalancedAllocation>,
        add::<ImageLocality>,
        add::<DefaultBinder>,
        add::<NodeDeclaredFeatures>,
    ];
    all.into_iter().try_for_each(|add| add(registry))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_plugin_has_a_page_with_the_same_sections() {
        let registry = registry();
        for name in registry.names() {
            let page = registry.doc(name).unwrap();
            let sections: Vec<&str> = page.lines().filter_map(|it| it.strip_prefix("# ")).collect();
            let expected =
                ["What it does", "Why", "Points", "Arguments", "Worked example", "Source"];
            assert_eq!(sections, expected, "the page of {name}");
        }
    }
}
