//! Whether the values of a configuration make sense.
//!
//! Source: `pkg/scheduler/apis/config/validation/validation.go` and
//! `k8s.io/component-base/config/validation`, 1.36. Errors come in upstream's order, but for those
//! that it takes from a map.

use std::collections::{BTreeMap, BTreeSet};

use loadmaster_framework::{
    duration::GoDuration,
    field::{FieldError, child, element, label_key_faults, quoted},
};

use crate::{
    catalog::{Catalog, FIT},
    config::{API_VERSION, Args, Extender, KubeSchedulerConfiguration, LeaderElection, Profile},
    plugins::{PluginRef, PluginSet},
    points::Point,
};

/// Everything that is wrong with the values; empty when nothing is.
pub fn validate(config: &KubeSchedulerConfiguration, catalog: &dyn Catalog) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let burst = config.client_connection.burst;
    if burst < 0 {
        errors.push(FieldError::invalid("clientConnection.burst", burst, "must be non-negative"));
    }
    errors.extend(validate_leader_election(&config.leader_election));
    if config.parallelism <= 0 {
        let detail = "should be an integer value greater than zero";
        errors.push(FieldError::invalid("parallelism", config.parallelism, detail));
    }
    if config.profiles.is_empty() {
        errors.push(FieldError::required("profiles", ""));
    } else {
        errors.extend(validate_profiles(&config.profiles, catalog));
    }
    let percentage = config.percentage_of_nodes_to_score;
    errors.extend(validate_percentage("percentageOfNodesToScore".to_owned(), Some(percentage)));
    let (initial, max) = (config.pod_initial_backoff_seconds, config.pod_max_backoff_seconds);
    if initial <= 0 {
        let detail = "must be greater than 0";
        errors.push(FieldError::invalid("podInitialBackoffSeconds", initial, detail));
    }
    if max < initial {
        let detail = "must be greater than or equal to PodInitialBackoffSeconds";
        errors.push(FieldError::invalid("podMaxBackoffSeconds", max, detail));
    }
    errors.extend(validate_extenders(&config.extenders));
    errors
}

fn validate_leader_election(election: &LeaderElection) -> Vec<FieldError> {
    const PATH: &str = "leaderElection";
    let mut errors = Vec::new();
    if !election.leader_elect {
        return errors;
    }
    let shown = |it: GoDuration| quoted(&it.to_string());
    for (name, value) in [
        ("leaseDuration", election.lease_duration),
        ("renewDeadline", election.renew_deadline),
        ("retryPeriod", election.retry_period),
    ] {
        if value <= GoDuration::ZERO {
            let detail = "must be greater than zero";
            errors.push(FieldError::invalid(child(PATH, name), shown(value), detail));
        }
    }
    if election.lease_duration <= election.renew_deadline {
        let (path, value) = (child(PATH, "leaseDuration"), shown(election.renew_deadline));
        errors.push(FieldError::invalid(path, value, "must be greater than `RenewDeadline`"));
    }
    if election.resource_lock != "leases" {
        let (path, value) = (child(PATH, "resourceLock"), quoted(&election.resource_lock));
        errors.push(FieldError::invalid(path, value, "resourceLock value must be \"leases\""));
    }
    errors
}

fn validate_percentage(path: String, percentage: Option<i32>) -> Option<FieldError> {
    let wrong = percentage.filter(|it| !(0..=100).contains(it))?;
    Some(FieldError::invalid(path, wrong, "not in valid range [0-100]"))
}

fn validate_profiles(profiles: &[Profile], catalog: &dyn Catalog) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let mut seen = BTreeSet::new();
    for (index, profile) in profiles.iter().enumerate() {
        let path = element("profiles", index);
        errors.extend(validate_profile(profile, &path, catalog));
        if !seen.insert(&profile.scheduler_name) {
            let path = child(&path, "schedulerName");
            errors.push(FieldError::duplicate(path, &profile.scheduler_name));
        }
    }
    errors.extend(validate_common_queue_sort(profiles));
    errors
}

fn validate_profile(profile: &Profile, path: &str, catalog: &dyn Catalog) -> Vec<FieldError> {
    let mut errors = Vec::new();
    if profile.scheduler_name.is_empty() {
        errors.push(FieldError::required(child(path, "schedulerName"), ""));
    }
    let percentage = profile.percentage_of_nodes_to_score;
    errors.extend(validate_percentage(child(path, "percentageOfNodesToScore"), percentage));
    let plugins = child(path, "plugins");
    // `multiPoint` and the gated points are not looked at here; there a removed name fails when the
    // profile is built.
    for point in Point::ALL {
        if matches!(point, Point::PlacementGenerate | Point::PlacementScore) {
            continue;
        }
        let path = child(&child(&plugins, point.field()), "enabled");
        for (index, plugin) in profile.plugins.at(point).enabled.iter().enumerate() {
            errors.extend(validate_removed(&element(&path, index), &plugin.name));
        }
    }
    let mut seen = BTreeSet::new();
    for (index, entry) in profile.plugin_config.iter().enumerate() {
        let path = element(&child(path, "pluginConfig"), index);
        if !seen.insert(&entry.name) {
            errors.push(FieldError::duplicate(&*path, &entry.name));
        }
        errors.extend(validate_removed(&path, &entry.name));
        let path = child(&path, "args");
        match &entry.args {
            // Upstream looks for this plugin under its name with "Args" behind: so it is checked
            // when it is built, and what has that name is refused.
            Args::Typed(_) if entry.name == FIT => {}
            Args::Typed(_) => {
                errors.extend(catalog.validate_args(&entry.name, &entry.written, &path));
            }
            Args::Raw(_) | Args::None if entry.name.strip_suffix("Args") == Some(FIT) => {
                let detail = format!("has to match plugin args; the plugin is named {FIT}");
                errors.push(FieldError::invalid(path, quoted(&entry.name), detail));
            }
            Args::Raw(_) | Args::None => {}
        }
    }
    errors
}

fn validate_removed(path: &str, plugin: &str) -> Option<FieldError> {
    const REMOVED: [&str; 4] = ["AzureDiskLimits", "CinderLimits", "EBSLimits", "GCEPDLimits"];
    REMOVED.contains(&plugin).then(|| {
        let detail = format!(
            "was invalid in version \"v1\" (KubeSchedulerConfiguration is version {API_VERSION:?})"
        );
        FieldError::invalid(path, quoted(plugin), detail)
    })
}

/// One queue serves all profiles, so all must sort it alike.
fn validate_common_queue_sort(profiles: &[Profile]) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let Some((first, others)) = profiles.split_first() else { return errors };
    let canon = first.plugins.at(Point::QueueSort);
    if canon.enabled.len() > 1 {
        let path = "profiles[0].plugins.queueSort.Enabled";
        let detail = "only one queue sort plugin can be enabled";
        errors.push(FieldError::invalid(path, canon.enabled.len(), detail));
    }
    let name = canon.enabled.first().map_or("", |it| &it.name);
    let args: BTreeMap<&str, &Args> =
        first.plugin_config.iter().map(|it| (&*it.name, &it.args)).collect();
    for (index, profile) in others.iter().enumerate() {
        let path = element("profiles", index + 1);
        let set = profile.plugins.at(Point::QueueSort);
        if !same_set(canon, set) {
            let path = child(&child(&path, "plugins"), "queueSort");
            errors.push(FieldError::invalid(
                path,
                shown_set(set),
                "must be the same for all profiles",
            ));
        }
        let own = profile.plugin_config.iter().find(|it| it.name == name);
        if own.is_some_and(|it| !name.is_empty() && args.get(name) != Some(&&it.args)) {
            let path = child(&child(&path, "pluginConfig"), "args");
            let detail = "queueSort must be the same for all profiles";
            errors.push(FieldError::invalid(path, quoted(name), detail));
        }
    }
    errors
}

fn same_set(a: &PluginSet, b: &PluginSet) -> bool {
    let same = |a: &[PluginRef], b: &[PluginRef]| {
        let key = |it: &PluginRef| (it.name.clone(), it.raw_weight());
        a.iter().map(key).eq(b.iter().map(key))
    };
    same(&a.enabled, &b.enabled) && same(&a.disabled, &b.disabled)
}

/// A set as upstream's message shows it.
fn shown_set(set: &PluginSet) -> String {
    let list = |plugins: &[PluginRef]| {
        let shown = plugins
            .iter()
            .map(|it| format!(r#"{{"Name":{},"Weight":{}}}"#, quoted(&it.name), it.raw_weight()));
        match plugins {
            [] => "null".to_owned(),
            _ => format!("[{}]", shown.collect::<Vec<_>>().join(",")),
        }
    };
    format!(r#"{{"Enabled":{},"Disabled":{}}}"#, list(&set.enabled), list(&set.disabled))
}

fn validate_extenders(extenders: &[Extender]) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let mut managed = BTreeSet::new();
    for (index, extender) in extenders.iter().enumerate() {
        let path = element("extenders", index);
        if !extender.prioritize_verb.is_empty() && extender.weight <= 0 {
            let detail = "must have a positive weight applied to it";
            errors.push(FieldError::invalid(child(&path, "weight"), extender.weight, detail));
        }
        for (index, resource) in extender.managed_resources.iter().enumerate() {
            let path = child(&element(&child(&path, "managedResources"), index), "name");
            let name = &resource.name;
            for fault in extended_resource_faults(name) {
                errors.push(FieldError::invalid(&*path, quoted(name), fault));
            }
            if !managed.insert(name) {
                let detail = "duplicate extender managed resource name";
                errors.push(FieldError::invalid(path, quoted(name), detail));
            }
        }
    }
    let binders = extenders.iter().filter(|it| !it.bind_verb.is_empty()).count();
    if binders > 1 {
        let value = quoted(&format!("found {binders} extenders implementing bind"));
        errors.push(FieldError::invalid(
            "extenders",
            value,
            "only one extender can implement bind",
        ));
    }
    errors
}

/// What is wrong with the name of an extended resource: it has a domain, not Kubernetes' own, and
/// is short enough to have a quota.
fn extended_resource_faults(name: &str) -> Vec<String> {
    const QUOTA: &str = "requests.";
    let faults = label_key_faults(name);
    if !faults.is_empty() {
        return faults;
    }
    let native = !name.contains('/') || name.contains("kubernetes.io/");
    if native || name.starts_with(QUOTA) || !label_key_faults(&format!("{QUOTA}{name}")).is_empty()
    {
        return vec!["is an invalid extended resource name".to_owned()];
    }
    Vec::new()
}
