//! The scheduler itself: everything is checked before anything is started.

use std::{
    path::{Path, PathBuf},
    process::ExitCode,
    sync::Arc,
    time::{SystemTime, UNIX_EPOCH},
};

use anyhow::bail;
use loadmaster_config::{ClientConnection, Loaded, show_json};
use loadmaster_core::scheduler::{Scheduler, SchedulerOptions};
use loadmaster_framework::{Gates, Registry};
use loadmaster_k8s::{
    client::ClientOptions,
    needs::{self, Wants},
};
use tokio_util::sync::CancellationToken;

use super::{
    args::Run,
    config::located,
    effective::{self, Effective, effective},
    election::election,
    manifests::leading,
};
use crate::{
    logs,
    process::{self, Plan, Rate, StartChecks},
    serving::Board,
};

pub(super) fn run(args: &Run, registry: &Registry, gates: &Gates) -> anyhow::Result<ExitCode> {
    let Effective { loaded, gates, notes } = effective(args, registry, gates)?;
    if let Some(file) = &args.write_config_to {
        return effective::write(&loaded, file).map(|()| ExitCode::SUCCESS);
    }
    let election = election(&loaded, &named(args.config.as_deref()), &process::host())?;
    logs::start(args.logging.verbosity, args.logging.logging_format);
    for note in notes {
        tracing::warn!("{note}");
    }
    let mut options = SchedulerOptions::from_config(&loaded, registry, &gates)?;
    options.seed = args.seed.unwrap_or_else(any_seed);
    options.pod_max_in_unschedulable_pods = args.pod_max_in_unschedulable_pods_duration.to_std();
    announce(args, &loaded, &options);
    let kinds = needs::kinds_of(&options.profiles);
    let checks = start_checks(args, &loaded, &options);
    let budget = args.plugin_time_budget.to_std();
    let budget = (!budget.is_zero()).then_some(budget);
    let board = Board::new(budget, CancellationToken::new());
    board.set_config(&show_json(&loaded)?);
    options.meter = Some(Arc::new(board.meter().clone()));
    options.plugin_time_budget = budget;
    let scheduler = Scheduler::new(options)?;
    let client = client_options(args, &loaded);
    let delay_cache_until_active = loaded.config.delay_cache_until_active;
    let rate = rate(&loaded)?;
    let extenders = loaded.config.extenders;
    process::run(Plan {
        client,
        checks,
        rate,
        scheduler,
        kinds,
        extenders,
        election,
        delay_cache_until_active,
        serving: args.serving.clone(),
        board,
    })
}

/// What is looked at in the cluster before anything is scheduled.
fn start_checks(args: &Run, loaded: &Loaded, options: &SchedulerOptions) -> StartChecks {
    let election = leading(&loaded.config.leader_election);
    let wants = Wants { leader_election: election, serving: args.serving.secure_port != Some(0) };
    StartChecks {
        needs: needs::permissions(&options.profiles, wants),
        readers: needs::readers_of(&options.profiles),
        scheduler_names: loaded.profiles.iter().map(|it| it.scheduler_name.clone()).collect(),
        lease: election.map(|it| (it.resource_namespace.clone(), it.resource_name.clone())),
        config: args.config.as_ref().map(|it| it.display().to_string()),
    }
}

/// A seed that differs from run to run.
fn any_seed() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    since.as_secs() ^ u64::from(since.subsec_nanos()) << 32 ^ u64::from(std::process::id())
}

fn named(config: Option<&Path>) -> String {
    config.map_or_else(|| "the configuration".to_owned(), |it| it.display().to_string())
}

/// Says what runs, and what is odd about it.
fn announce(args: &Run, loaded: &Loaded, options: &SchedulerOptions) {
    let file = named(args.config.as_deref());
    for warning in &loaded.warnings {
        tracing::warn!("{}", located(&file, warning));
    }
    for profile in &options.profiles {
        let plugins: Vec<_> = profile.hooks().iter().map(|it| it.name).collect();
        let weights: Vec<_> =
            profile.score_weights().map(|(name, weight)| format!("{name}={weight}")).collect();
        tracing::info!(
            profile = %profile.scheduler_name(),
            plugins = plugins.join(","),
            score = weights.join(","),
            "profile"
        );
        for feed in profile.feeds() {
            tracing::warn!(
                feed = %feed.name,
                "feeds are not fetched yet: plugins that read this one find no facts in it"
            );
        }
    }
}

/// How often the server is called.
fn rate(loaded: &Loaded) -> anyhow::Result<Rate> {
    let ClientConnection { qps, burst, .. } = loaded.config.client_connection;
    let burst = u32::try_from(burst).unwrap_or_default();
    if qps > 0.0 && burst == 0 {
        bail!(
            "clientConnection.burst must be greater than 0 where qps is; write burst: 100, or leave \
             it out, which means the same"
        );
    }
    Ok(Rate { qps, burst })
}

fn client_options(args: &Run, loaded: &Loaded) -> ClientOptions {
    let flag = args.client.kubeconfig.clone().map(|it| (it, "--kubeconfig".to_owned()));
    let configured =
        Some(&loaded.config.client_connection.kubeconfig).filter(|it| !it.is_empty()).map(|it| {
            let file = named(args.config.as_deref());
            (PathBuf::from(it), format!("clientConnection.kubeconfig of {file}"))
        });
    ClientOptions {
        kubeconfig: flag.or(configured),
        context: args.client.context.clone(),
        master: args.client.master.clone(),
    }
}
