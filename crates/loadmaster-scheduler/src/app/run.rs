//! The scheduler itself: everything is checked before anything is started.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    process::ExitCode,
    sync::Arc,
    time::{SystemTime, UNIX_EPOCH},
};

use anyhow::bail;
use loadmaster_config::{ClientConnection, Loaded, show_json};
use loadmaster_core::{
    meter::Meter,
    scheduler::{Scheduler, SchedulerOptions},
};
use loadmaster_framework::{Gates, Registry};
use loadmaster_k8s::{
    act::Actions,
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
    host::host,
    logs,
    process::{
        Ground, Plan, Rate, StartChecks,
        feeds::{FeedSources, declared},
        reload::{Blueprint, Build},
    },
    serving::{Board, Zpages},
};

pub(super) fn run(
    args: Run,
    flags: BTreeMap<String, String>,
    registry: Registry,
    base: Gates,
    sources: FeedSources,
    actions: Actions,
) -> anyhow::Result<ExitCode> {
    let ground = Ground::prepare()?;
    let Effective { loaded, gates, notes } = effective(&args, &registry, &base)?;
    if let Some(file) = &args.write_config_to {
        return effective::write(&loaded, file).map(|()| ExitCode::SUCCESS);
    }
    let election = election(&loaded, &named(args.config.as_deref()), &host())?;
    logs::start(args.logging.verbosity, args.logging.logging_format);
    for note in notes {
        tracing::warn!("{note}");
    }
    let seed = args.seed.unwrap_or_else(any_seed);
    let budget = args.plugin_time_budget.to_std();
    let budget = (!budget.is_zero()).then_some(budget);
    let board = Board::new(budget, CancellationToken::new());
    board.set_config(&show_json(&loaded)?);
    board.set_zpages(Zpages {
        flags: args.gates.serves("ComponentFlagz").then_some(flags),
        status: args.gates.serves("ComponentStatusz"),
    });
    let meter: Arc<dyn Meter> = Arc::new(board.meter().clone());
    let finish = move |args: &Run, options: SchedulerOptions| SchedulerOptions {
        seed,
        pod_max_in_unschedulable_pods: args.pod_max_in_unschedulable_pods_duration.to_std(),
        meter: Some(Arc::clone(&meter)),
        plugin_time_budget: budget,
        ..options
    };
    let first = finish(&args, SchedulerOptions::from_config(&loaded, &registry, &gates)?);
    announce(&args, &loaded, &first);
    let kinds = needs::kinds_of(&first.profiles);
    let checks = start_checks(&args, &loaded, &first);
    let feeds = declared(&first.profiles, &sources)?;
    let registered = sources.clone();
    let scheduler = Scheduler::new(first)?;
    let client = client_options(&args, &loaded);
    let rate = rate(&loaded)?;
    let (config, config_file, serving) = (loaded.config, args.config.clone(), args.serving.clone());
    let build: Build = Box::new(move || {
        let file = named(args.config.as_deref());
        if args.config.as_ref().is_some_and(|it| it.exists() && !it.is_file()) {
            // A pipe would be waited for.
            bail!("{file} is no regular file, and cannot be read again; put one in its place");
        }
        let Effective { loaded, gates, .. } = effective(&args, &registry, &base)?;
        // Whatever it changes, the lease must not be another scheduler's.
        self::election(&loaded, &file, &host())?;
        let options = SchedulerOptions::from_config(&loaded, &registry, &gates)?;
        let options = finish(&args, options);
        Ok(Blueprint {
            checks: start_checks(&args, &loaded, &options),
            shown: show_json(&loaded)?,
            feeds: declared(&options.profiles, &registered)?,
            options,
            warnings: loaded.warnings.iter().map(|it| located(&file, it)).collect(),
            config: loaded.config,
        })
    });
    ground.run(Plan {
        client,
        checks,
        rate,
        scheduler,
        kinds,
        feeds,
        sources,
        actions,
        election,
        config,
        config_file,
        build,
        serving,
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
