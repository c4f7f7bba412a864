//! The process around the core: the core on one thread, everything that waits beside it, channels
//! between them.

mod begin;
mod clock;
mod event_loop;
mod extenders;
pub(crate) mod feeds;
mod io;
mod leading;
pub(crate) mod reload;
mod signals;
mod start_checks;
mod swap;

use std::{collections::BTreeSet, path::PathBuf, process::ExitCode, time::Duration};

use anyhow::Context;
use loadmaster_config::KubeSchedulerConfiguration;
use loadmaster_core::scheduler::Scheduler;
use loadmaster_framework::Feed;
use loadmaster_k8s::{
    act::Actions,
    client::ClientOptions,
    kind::Kind,
    leader::{ElectionOptions, Loss},
};
use tokio::{runtime::Runtime, signal::unix::Signal, sync::oneshot, time::Instant};
use tokio_util::sync::CancellationToken;

use crate::{
    app::{INTERNAL, NEGATIVE, ServingFlags},
    serving::Board,
};
use begin::begin;
use clock::Clock;
use event_loop::EventLoop;
use extenders::Extenders;
use feeds::FeedSources;
use io::Parts;
pub(crate) use io::Rate;
use leading::Leading;
use reload::{Build, ConfigFile};
use signals::Signals;
pub(crate) use start_checks::StartChecks;

/// What is to run.
pub(crate) struct Plan {
    /// Where the cluster is.
    pub(crate) client: ClientOptions,
    /// What is looked at there before anything is scheduled.
    pub(crate) checks: StartChecks,
    /// How often it is called.
    pub(crate) rate: Rate,
    /// The core, knowing nothing yet.
    pub(crate) scheduler: Scheduler,
    /// What it must be told of.
    pub(crate) kinds: BTreeSet<Kind>,
    /// What its plugins read from elsewhere.
    pub(crate) feeds: Vec<Feed>,
    /// The sources that the program has registered for that.
    pub(crate) sources: FeedSources,
    /// The actions that it has registered for its plugins.
    pub(crate) actions: Actions,
    /// The election to take part in, if any.
    pub(crate) election: Option<ElectionOptions>,
    /// The configuration that the core was made of.
    pub(crate) config: KubeSchedulerConfiguration,
    /// Where it stands, if it stands in a file.
    pub(crate) config_file: Option<PathBuf>,
    /// Makes another one of what the file holds by then.
    pub(crate) build: Build,
    /// What is served.
    pub(crate) serving: ServingFlags,
    /// What is shown there.
    pub(crate) board: Board,
}

/// What the process stands on.
pub(crate) struct Ground {
    runtime: Runtime,
    hangup: Signal,
}

impl Ground {
    /// Starts the threads for all that waits. From here on SIGHUP does not end the process.
    ///
    /// # Errors
    /// The system has no room for it.
    pub(crate) fn prepare() -> anyhow::Result<Self> {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build()
            .context("cannot start threads")?;
        let hangup = {
            let _inside = runtime.enter();
            signals::hangup().context(NO_SIGNALS)?
        };
        Ok(Self { runtime, hangup })
    }

    /// Runs until a signal ends it.
    ///
    /// # Errors
    /// What keeps it from starting.
    pub(crate) fn run(self, plan: Plan) -> anyhow::Result<ExitCode> {
        let Self { runtime, hangup } = self;
        let result = runtime.block_on(serve(plan, hangup));
        // What is still under way then is given up.
        runtime.shutdown_timeout(Duration::from_millis(100));
        result
    }
}

const NO_SIGNALS: &str = "cannot listen for signals";

async fn serve(plan: Plan, hangup: Signal) -> anyhow::Result<ExitCode> {
    let Plan {
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
    } = plan;
    let extenders = Extenders::new(&config.extenders).await?;
    let file = ConfigFile::new(config_file, reload::INTERVAL, Some(hangup));
    let mut signals = Signals::listen().context(NO_SIGNALS)?;
    let (cluster, _serving) = tokio::select! {
        begun = begin(&client, &serving, &board, &checks, election.is_some()) => begun?,
        name = signals.next() => {
            tracing::info!(signal = name, "stopped before anything began");
            return Ok(ExitCode::SUCCESS);
        }
    };
    let stop = board.stopping().clone();
    let mut leading = Leading::start(&cluster, election);
    if let Some(status) = leading.status() {
        board.set_leader(status);
    }
    if config.delay_cache_until_active {
        let mut gate = leading.gate();
        tokio::select! {
            () = gate.opened() => {}
            name = signals.next() => {
                tracing::info!(signal = name, "stopped before anything began");
                leading.finish().await;
                return Ok(ExitCode::SUCCESS);
            }
        }
    }
    let clock = Clock::since(board.meter().started());
    let parts = Parts {
        kinds: kinds.clone(),
        extenders: extenders.clone(),
        feeds,
        sources,
        actions,
        clock,
        config,
        file,
        build,
        board: board.clone(),
        rate,
        gate: leading.gate(),
    };
    let wires = io::start(&cluster, parts);
    let broken = wires.for_core.broken.clone();
    let core = EventLoop::new(scheduler, kinds, wires.for_core, extenders, clock, board.clone());
    let core = core.spawn().context("cannot start a thread")?;
    match until_end(core, &mut signals, &mut leading, &stop, &broken).await {
        End::Stopped => {}
        End::Overdue => {
            let call = board.call_longer_than(LONG_CALL);
            let stuck = call.as_deref().unwrap_or("a call to an extender goes on, most likely");
            tracing::error!(
                stuck,
                "scheduling did not end in time; the process ends without it, and what was under \
                 way is unknown"
            );
            leading.abandon();
            return Ok(ExitCode::from(INTERNAL));
        }
        End::Lost(loss) => {
            stop.cancel();
            tracing::error!(reason = %loss, "Leaderelection lost");
            return Ok(ExitCode::from(NEGATIVE));
        }
        End::Broken => {
            tracing::error!("a part of the scheduler broke, which is a fault of the program");
            return Ok(ExitCode::from(INTERNAL));
        }
        End::Forced(name) => {
            let stuck = board.call_longer_than(LONG_CALL);
            tracing::warn!(signal = name, stuck, "stopped at once; what was under way is unknown");
            leading.abandon();
            return Ok(ExitCode::from(NEGATIVE));
        }
    }
    if wires.io.finish().await {
        leading.finish().await;
    } else {
        leading.abandon();
    }
    tracing::info!("stopped");
    Ok(ExitCode::SUCCESS)
}

/// How it ended.
enum End {
    /// On request.
    Stopped,
    /// This copy does not lead any more.
    Lost(Loss),
    /// The core panicked, or a task that it cannot do without.
    Broken,
    /// On a second request.
    Forced(&'static str),
    /// The core did not end in time after the first.
    Overdue,
}

/// How long the core may take to end. What follows takes four seconds at most, and the deployment's
/// grace period covers both.
const CORE_LIMIT: Duration = Duration::from_secs(10);
/// A call into a plugin that has taken so long is worth its name when the process cannot end.
const LONG_CALL: Duration = Duration::from_millis(100);

/// Waits for a signal, asks the core to stop, and waits until it has, or should have.
async fn until_end(
    mut core: oneshot::Receiver<()>,
    signals: &mut Signals,
    leading: &mut Leading,
    stop: &CancellationToken,
    broken: &CancellationToken,
) -> End {
    let mut deadline = None;
    loop {
        let overdue = async {
            match deadline {
                Some(deadline) => tokio::time::sleep_until(deadline).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            ended = &mut core => return if ended.is_ok() { End::Stopped } else { End::Broken },
            loss = leading.lost() => return End::Lost(loss),
            name = signals.next() => {
                if deadline.is_some() {
                    return End::Forced(name);
                }
                tracing::info!(signal = name, "stopping: no new pods, what is under way ends first");
                deadline = Some(Instant::now() + CORE_LIMIT);
                stop.cancel();
            }
            () = broken.cancelled() => return End::Broken,
            () = overdue => return End::Overdue,
        }
    }
}
