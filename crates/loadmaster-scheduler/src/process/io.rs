//! Everything that waits for the network, and the channels between it and the core.

use std::{collections::BTreeSet, panic::AssertUnwindSafe, time::Duration};

use super::{
    clock::Clock,
    extenders::Extenders,
    feeds::{FeedSources, Feeds},
    leading::Gate,
    reload::{Build, ConfigFile, Reloader},
    swap::Swaps,
};
use crate::{host::host, serving::Board};
use futures::FutureExt;
use loadmaster_config::KubeSchedulerConfiguration;
use loadmaster_core::scheduler::{Work, WorkId, WorkResult};
use loadmaster_framework::{ActionError, ActionResult, Feed};
use loadmaster_k8s::{
    act::{Actions, Actor},
    client::Cluster,
    events::{announce::Announcer, recorder},
    kind::Kind,
    leader::NotLeading,
    watch::{Told, WatchOptions, Watches},
};
use tokio::{
    sync::{mpsc, watch},
    task::{JoinHandle, JoinSet},
    time::{Instant, timeout_at},
};
use tokio_util::sync::CancellationToken;

/// The core's ends of the channels.
pub(super) struct CoreWires {
    /// What watches tell.
    pub(super) told: mpsc::Receiver<Told>,
    /// What came of work.
    pub(super) results: mpsc::UnboundedReceiver<(WorkId, WorkResult)>,
    /// Work to do.
    pub(super) work: mpsc::UnboundedSender<(WorkId, Work)>,
    /// Whether this copy is to work.
    pub(super) gate: Gate,
    /// Configurations that are to take over.
    pub(super) swaps: Swaps,
    /// Which extenders bind from now on.
    pub(super) extenders: watch::Sender<Extenders>,
    /// Something broke that the process cannot do without.
    pub(super) broken: CancellationToken,
}

/// How often the server is called, watches and the election aside.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rate {
    /// Calls a second in the long run; not above 0 is no bound.
    pub(crate) qps: f32,
    /// Calls at once.
    pub(crate) burst: u32,
}

/// The tasks beside the core.
pub(super) struct Io {
    /// Looks after the configuration, and with it after what is watched.
    reloader: JoinHandle<()>,
    actor: JoinHandle<()>,
    writer: JoinHandle<()>,
}

/// Both.
pub(super) struct Wires {
    pub(super) for_core: CoreWires,
    pub(super) io: Io,
}

/// How many changes may wait for the core before watches pause.
const TOLD_MAX: usize = 4096;
/// How long the last events may take to be written.
const FINISH_LIMIT: Duration = Duration::from_secs(2);

/// What the tasks beside the core are made of.
pub(super) struct Parts {
    /// What the core must be told of.
    pub(super) kinds: BTreeSet<Kind>,
    pub(super) extenders: Extenders,
    /// What is read from elsewhere, and the sources that the program has registered.
    pub(super) feeds: Vec<Feed>,
    pub(super) sources: FeedSources,
    /// The actions that the program has registered.
    pub(super) actions: Actions,
    pub(super) clock: Clock,
    /// The configuration that the core was made of.
    pub(super) config: KubeSchedulerConfiguration,
    /// Where the next one will stand, and what builds it.
    pub(super) file: ConfigFile,
    pub(super) build: Build,
    /// Where the configuration in use is shown.
    pub(super) board: Board,
    /// How often the server is called.
    pub(super) rate: Rate,
    /// Whether this copy is to work.
    pub(super) gate: Gate,
}

/// Starts to watch, to act, to record, and to look after the configuration.
pub(super) fn start(cluster: &Cluster, parts: Parts) -> Wires {
    let Parts {
        kinds,
        extenders,
        feeds,
        sources,
        actions,
        clock,
        config,
        file,
        build,
        board,
        rate,
        gate,
    } = parts;
    let Rate { qps, burst } = rate;
    let fenced = cluster.rest.with_fence(gate.fence());
    let (tell, told) = mpsc::channel(TOLD_MAX);
    let (work, work_taken) = mpsc::unbounded_channel();
    let (answer, results) = mpsc::unbounded_channel();
    let (swap, swaps) = mpsc::unbounded_channel();
    let (report, reports) = mpsc::unbounded_channel();
    let (extenders, binders) = watch::channel(extenders);
    let broken = CancellationToken::new();
    // Events have a rate of their own, as upstream: they hold no binding up.
    let (recorder, writer) = recorder(fenced.with_rate(qps, burst), &host());
    let actor = Actor::new(fenced.with_rate(qps, burst), recorder).with_actions(actions);
    let reporter = config.profiles.first().map(|it| it.scheduler_name.clone());
    let watches = Watches::start(&cluster.rest, &kinds, &WatchOptions::default(), &tell);
    board.set_pods(watches.pods());
    let reloader = Reloader {
        file,
        build,
        rest: cluster.rest.clone(),
        watches,
        fetched: Feeds::new(cluster.rest.clone(), sources, clock, tell.clone()),
        swaps: swap,
        reports,
        announcer: Announcer::new(cluster.rest.clone(), reporter.unwrap_or_default(), host()),
        board,
        started_with: config,
        kinds,
        feeds,
        generation: 0,
        asked: None,
        denied: None,
    };
    let io = Io {
        reloader: tokio::spawn(unless_broken(broken.clone(), reloader.run())),
        actor: tokio::spawn(unless_broken(
            broken.clone(),
            act(actor, binders, gate.clone(), work_taken, answer),
        )),
        writer: tokio::spawn(unless_broken(broken.clone(), writer.run())),
    };
    let swaps = Swaps::new(swaps, report);
    Wires { for_core: CoreWires { told, results, work, gate, swaps, extenders, broken }, io }
}

/// Does work as it comes, side by side; ends when the core has hung up and all is done.
async fn act(
    actor: Actor,
    extenders: watch::Receiver<Extenders>,
    gate: Gate,
    mut work: mpsc::UnboundedReceiver<(WorkId, Work)>,
    answer: mpsc::UnboundedSender<(WorkId, WorkResult)>,
) {
    let mut running = JoinSet::new();
    loop {
        tokio::select! {
            next = work.recv() => {
                let Some((id, work)) = next else { break };
                let extenders = extenders.borrow().clone();
                let (actor, answer) = (actor.clone(), answer.clone());
                let gate = gate.clone();
                running.spawn(async move {
                    let unknown = unknown_of(&work);
                    let result = AssertUnwindSafe(async {
                        match work {
                            Work::ExtenderBind { extender, pod, node } => {
                                let bind = extenders.bind(&extender, &pod, &node);
                                Some(WorkResult::Done(guarded(&gate, bind).await))
                            }
                            other => actor.act(other).await,
                        }
                    });
                    // Whatever is awaited is answered.
                    if let Some(result) = result.catch_unwind().await.unwrap_or(unknown) {
                        // A core that has hung up asks for nothing any more.
                        let _ = answer.send((id, result));
                    }
                });
            }
            Some(_) = running.join_next(), if !running.is_empty() => {}
        }
    }
    while running.join_next().await.is_some() {}
}

/// What came of work that broke off: nobody knows.
fn unknown_of(work: &Work) -> Option<WorkResult> {
    let text = "the call panicked, which is a fault of the program".to_owned();
    match work {
        Work::Record(_) => None,
        Work::ReadPod { .. } => Some(WorkResult::Pod(Err(text))),
        _ => Some(WorkResult::Done(Err(ActionError::Unknown(text)))),
    }
}

/// Runs a task that the process cannot do without; one that panics breaks the process.
async fn unless_broken(broken: CancellationToken, task: impl Future<Output = ()>) {
    if AssertUnwindSafe(task).catch_unwind().await.is_err() {
        broken.cancel();
    }
}

/// Runs a call that is not made by a fenced client.
async fn guarded(gate: &Gate, call: impl Future<Output = ActionResult>) -> ActionResult {
    match gate.fence() {
        Some(fence) => {
            let unknown = |it: NotLeading| ActionError::Unknown(it.to_string());
            fence.guard(call).await.map_err(unknown)?
        }
        None => call.await,
    }
}

impl Io {
    /// Ends watches, lets what is under way end and the last events be written, and gives up what
    /// takes too long. Whether no call but those of events was given up.
    pub(super) async fn finish(self) -> bool {
        let Self { reloader, mut actor, mut writer } = self;
        reloader.abort();
        let deadline = Instant::now() + FINISH_LIMIT;
        let done = timeout_at(deadline, &mut actor).await.is_ok();
        if !done {
            tracing::warn!("calls to the API server were given up; what they did is unknown");
            actor.abort();
        }
        if timeout_at(deadline, &mut writer).await.is_err() {
            tracing::warn!("the last events could not be written in time");
            writer.abort();
        }
        done
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_task_that_panics_breaks_the_process_and_one_that_ends_does_not() {
        let broken = CancellationToken::new();
        unless_broken(broken.clone(), async {}).await;
        assert!(!broken.is_cancelled());
        unless_broken(broken.clone(), async { panic!("a fault") }).await;
        assert!(broken.is_cancelled());
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_still_under_way_at_the_end_is_given_up_and_told_of() {
        let (held, given_up) = tokio::sync::oneshot::channel::<()>();
        let endless = async move {
            let _held = held;
            std::future::pending::<()>().await;
        };
        let io = Io {
            reloader: tokio::spawn(std::future::pending()),
            actor: tokio::spawn(endless),
            writer: tokio::spawn(async {}),
        };
        assert!(!io.finish().await);
        assert!(given_up.await.is_err());
        let (reloader, actor, writer) =
            (tokio::spawn(async {}), tokio::spawn(async {}), tokio::spawn(async {}));
        assert!(Io { reloader, actor, writer }.finish().await);
    }
}
