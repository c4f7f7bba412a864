//! Which election a configuration takes part in, and which it had better not.

use anyhow::bail;
use loadmaster_config::{LeaderElection, Loaded};
use loadmaster_k8s::leader::ElectionOptions;

/// The profile that pods ask for who ask for none.
const DEFAULT_SCHEDULER: &str = "default-scheduler";

/// The election that the configuration in `file` asks for, for a candidate on `host`.
///
/// # Errors
/// Times that do not fit together, and a scheduler of other pods that would contend with the
/// cluster's default scheduler: whichever of the two came second would never schedule.
pub(super) fn election(
    loaded: &Loaded,
    file: &str,
    host: &str,
) -> anyhow::Result<Option<ElectionOptions>> {
    let settings = &loaded.config.leader_election;
    if !settings.leader_elect {
        return Ok(None);
    }
    let mut names = loaded.profiles.iter().map(|it| &*it.scheduler_name);
    let first = names.next().unwrap_or(DEFAULT_SCHEDULER);
    let is_default = first == DEFAULT_SCHEDULER || names.any(|it| it == DEFAULT_SCHEDULER);
    if !is_default && is_default_schedulers(settings) {
        bail!(
            "no profile of {file} is named {DEFAULT_SCHEDULER}, and yet it would contend for \
             kube-system/kube-scheduler, the lease of the cluster's default scheduler: one of the \
             two would never schedule. Give this scheduler a lease of its own by these lines:\n\
             leaderElection:\n  resourceName: {first}\n\
             or, where there is one copy of it alone:\n\
             leaderElection:\n  leaderElect: false"
        );
    }
    Ok(Some(ElectionOptions::new(settings, host, first)?))
}

fn is_default_schedulers(settings: &LeaderElection) -> bool {
    settings.resource_namespace == "kube-system" && settings.resource_name == "kube-scheduler"
}

#[cfg(test)]
mod tests {
    use loadmaster_config::RegistryCatalog;
    use loadmaster_framework::Gates;

    use super::*;

    fn of(fields: &str) -> anyhow::Result<Option<ElectionOptions>> {
        let text = format!(
            "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n{fields}"
        );
        let (registry, gates) = (loadmaster_plugins::registry(), Gates::default());
        let catalog = RegistryCatalog::new(&registry, &gates);
        let loaded = loadmaster_config::load(&text, "test", &catalog).unwrap();
        election(&loaded, "scheduler.yaml", "host")
    }

    #[test]
    fn the_default_scheduler_takes_part_in_its_election() {
        let options = of("").unwrap().unwrap();
        assert_eq!(options.lock(), "kube-system/kube-scheduler");
        assert_eq!(options.reporter, "default-scheduler");
        let among_others =
            "profiles:\n- schedulerName: other\n- schedulerName: default-scheduler\n";
        assert_eq!(of(among_others).unwrap().unwrap().reporter, "other");
    }

    #[test]
    fn a_second_scheduler_is_told_the_lines_that_give_it_a_lease_of_its_own() {
        let refusal = of("profiles:\n- schedulerName: mine\n").unwrap_err().to_string();
        let lines = "leaderElection:\n  resourceName: mine\n";
        assert!(refusal.contains(lines), "{refusal}");
        let options = of(&format!("profiles:\n- schedulerName: mine\n{lines}")).unwrap().unwrap();
        assert_eq!(options.lock(), "kube-system/mine");
    }

    #[test]
    fn a_scheduler_without_an_election_contends_for_nothing() {
        let alone = "leaderElection: {leaderElect: false}\nprofiles:\n- schedulerName: mine\n";
        assert_eq!(of(alone).unwrap(), None);
    }
}
