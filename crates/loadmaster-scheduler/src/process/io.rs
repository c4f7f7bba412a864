//! Everything that waits for the network, and the channels between it and the core.

use std::{collections::BTreeSet, fs, time::Duration};

use super::extenders::Extenders;
use loadmaster_core::scheduler::{Work, WorkId, WorkResult};
use loadmaster_k8s::{
    act::Actor,
    client::Cluster,
    events::recorder,
    kind::Kind,
    watch::{self, Told, WatchOptions},
};
use tokio::{
    sync::mpsc,
    task::{JoinHandle, JoinSet},
};

/// The core's ends of the channels.
pub(super) struct CoreWires {
    /// What watches tell.
    pub(super) told: mpsc::Receiver<Told>,
    /// What came of work.
    pub(super) results: mpsc::UnboundedReceiver<(WorkId, WorkResult)>,
    /// Work to do.
    pub(super) work: mpsc::UnboundedSender<(WorkId, Work)>,
}

/// The tasks beside the core.
pub(super) struct Io {
    watches: JoinSet<()>,
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

/// Starts to watch, to act and to record.
pub(super) fn start(
    cluster: &Cluster,
    kinds: &BTreeSet<Kind>,
    options: &WatchOptions,
    extenders: &Extenders,
) -> Wires {
    let (tell, told) = mpsc::channel(TOLD_MAX);
    let (work, work_taken) = mpsc::unbounded_channel();
    let (answer, results) = mpsc::unbounded_channel();
    let (recorder, writer) = recorder(cluster.rest.clone(), &host());
    let actor = Actor::new(cluster.rest.clone(), recorder);
    let io = Io {
        watches: watch::start(&cluster.rest, kinds, options, &tell),
        actor: tokio::spawn(act(actor, extenders.clone(), work_taken, answer)),
        writer: tokio::spawn(writer.run()),
    };
    Wires { for_core: CoreWires { told, results, work }, io }
}

/// Does work as it comes, side by side; ends when the core has hung up and all is done.
async fn act(
    actor: Actor,
    extenders: Extenders,
    mut work: mpsc::UnboundedReceiver<(WorkId, Work)>,
    answer: mpsc::UnboundedSender<(WorkId, WorkResult)>,
) {
    let mut running = JoinSet::new();
    loop {
        tokio::select! {
            next = work.recv() => {
                let Some((id, work)) = next else { break };
                let (actor, extenders, answer) =
                    (actor.clone(), extenders.clone(), answer.clone());
                running.spawn(async move {
                    let result = match work {
                        Work::ExtenderBind { extender, pod, node } => {
                            Some(WorkResult::Done(extenders.bind(&extender, &pod, &node).await))
                        }
                        other => actor.act(other).await,
                    };
                    if let Some(result) = result {
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

impl Io {
    /// Ends watches, and lets the last events be written.
    pub(super) async fn finish(mut self) {
        self.watches.abort_all();
        let last = async {
            let _ = self.actor.await;
            let _ = self.writer.await;
        };
        if tokio::time::timeout(FINISH_LIMIT, last).await.is_err() {
            tracing::warn!("the last events could not be written in time");
        }
    }
}

/// The name of the machine or pod, for events.
fn host() -> String {
    let name = fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    match name.trim() {
        "" => "localhost".to_owned(),
        name => name.to_owned(),
    }
}
