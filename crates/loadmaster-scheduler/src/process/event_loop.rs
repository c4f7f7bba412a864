//! The core's thread: it takes in what it is told, schedules one pod after another, and hands out
//! what is to be done.

use std::{collections::BTreeSet, io, time::Duration};

use loadmaster_core::scheduler::{EventRecord, Scheduler, Work};
use loadmaster_k8s::{kind::Kind, watch::Told};
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use super::{clock::Clock, extenders::Extenders, io::CoreWires};
use crate::{logs, measure::Gauges, serving::Board};

/// The core and its channels.
pub(super) struct EventLoop {
    scheduler: Scheduler,
    wires: CoreWires,
    extenders: Extenders,
    stop: CancellationToken,
    clock: Clock,
    board: Board,
    gauges: Gauges,
    /// When the gauges are to be brought up to date again in the midst of work.
    gauges_due: Duration,
    /// Kinds that are not known completely, or not any more; no pod is scheduled before they are.
    awaited: BTreeSet<Kind>,
    next_complaint: Duration,
    /// Work that has not been answered.
    unanswered: usize,
}

/// How long what is under way may take when the process stops.
const STOP_LIMIT: Duration = Duration::from_secs(5);
/// With so much work under way, no more is begun.
const UNANSWERED_MAX: usize = 1024;
/// How much is taken in between two pods, so that neither side waits for ever.
const TAKE_MAX: usize = 1024;
/// How old gauges may be while one pod follows another.
const GAUGES_EVERY: Duration = Duration::from_millis(100);
/// How long the first listing may take before the log says what is awaited.
const SYNC_PATIENCE: Duration = Duration::from_secs(10);

impl EventLoop {
    pub(super) fn new(
        scheduler: Scheduler,
        kinds: BTreeSet<Kind>,
        wires: CoreWires,
        extenders: Extenders,
        clock: Clock,
        board: Board,
    ) -> Self {
        Self {
            scheduler,
            wires,
            extenders,
            stop: board.stopping().clone(),
            clock,
            gauges: Gauges::new(board.measures().clone()),
            gauges_due: Duration::ZERO,
            board,
            awaited: kinds,
            next_complaint: SYNC_PATIENCE,
            unanswered: 0,
        }
    }

    /// Runs on a thread of its own; the receiver hears of its end, or of its breaking.
    pub(super) fn spawn(self) -> io::Result<oneshot::Receiver<()>> {
        let (done, ended) = oneshot::channel();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build()?;
        std::thread::Builder::new().name("core".to_owned()).spawn(move || {
            runtime.block_on(self.run());
            let _ = done.send(());
        })?;
        Ok(ended)
    }

    async fn run(mut self) {
        let mut deadline = None;
        loop {
            self.take_in();
            let now = self.now();
            if self.scheduler.poll_timeout().is_some_and(|it| it <= now) {
                self.scheduler.handle_timeout(now);
                self.hand_out(false);
            }
            self.swap(now);
            if self.stop.is_cancelled() {
                let deadline = *deadline.get_or_insert(now + STOP_LIMIT);
                if self.unanswered == 0 || now >= deadline {
                    break;
                }
            } else if self.may_schedule() {
                let attempt = self.scheduler.schedule_one(now, &mut self.extenders);
                self.hand_out(true);
                if let Some(attempt) = attempt {
                    logs::decided(&attempt, self.scheduler.snapshot());
                }
                if now >= self.gauges_due {
                    self.gauges_due = now + GAUGES_EVERY;
                    self.gauges.refresh(&self.scheduler);
                }
                continue;
            }
            self.gauges.refresh(&self.scheduler);
            self.wait(deadline).await;
        }
        if self.unanswered > 0 {
            tracing::warn!(calls = self.unanswered, "stopping with calls unanswered");
        }
        tracing::info!(
            nodes = self.scheduler.cache().node_count(),
            pods = self.scheduler.pod_count(),
            pending = self.scheduler.queue().pending_pods().count(),
            bindings = self.scheduler.binding_counts().0,
            in_flight = self.scheduler.queue().in_flight_len().0,
            calls = self.scheduler.awaited_work(),
            "scheduling ends"
        );
    }

    fn now(&self) -> Duration {
        self.clock.now()
    }

    /// Between two cycles: lets another configuration take over, if one is ready to.
    fn swap(&mut self, now: Duration) {
        if let Some((kinds, extenders)) = self.wires.swaps.take_over(&mut self.scheduler, now) {
            self.awaited.retain(|it| kinds.contains(it));
            // What is begun with an extender of before is also ended with it.
            self.extenders = extenders.after(&self.extenders);
            self.wires.extenders.send_replace(self.extenders.clone());
            self.hand_out(false);
        }
    }

    fn may_schedule(&self) -> bool {
        self.awaited.is_empty()
            && self.unanswered < UNANSWERED_MAX
            && self.scheduler.has_next()
            && self.wires.gate.is_open()
    }

    /// Takes in what has arrived.
    fn take_in(&mut self) {
        for _ in 0..TAKE_MAX {
            if let Ok((id, result)) = self.wires.results.try_recv() {
                self.unanswered -= 1;
                let now = self.now();
                self.scheduler.handle_result(now, id, result);
            } else if let Ok(told) = self.wires.told.try_recv() {
                self.take(told);
            } else {
                break;
            }
        }
        self.hand_out(false);
    }

    fn take(&mut self, told: Told) {
        let now = self.now();
        match told {
            Told::Change(change) => self.scheduler.handle_event(now, change),
            Told::Synced(kind) => {
                self.wires.swaps.synced(kind);
                if self.awaited.remove(&kind) && self.awaited.is_empty() {
                    let nodes = self.scheduler.cache().node_count();
                    let pods = self.scheduler.pod_count();
                    self.board.set_synced();
                    if self.wires.gate.is_open() {
                        tracing::info!(nodes, pods, "the cluster is known; scheduling begins");
                    } else {
                        tracing::info!(nodes, pods, "the cluster is known; others may lead");
                    }
                }
            }
            Told::Ended(kind) => {
                self.scheduler.forget_kind(&kind.example());
                self.wires.swaps.forgotten(kind);
            }
            Told::Broken(kind) => {
                tracing::error!(kind = kind.plural(), "the watch broke");
                self.wires.broken.cancel();
            }
            Told::FeedEnded(name) => self.scheduler.forget_feed(&name),
            Told::Stale(kind) => {
                self.awaited.insert(kind);
                self.next_complaint = self.next_complaint.max(now + SYNC_PATIENCE);
            }
        }
    }

    /// Hands out what is to be done. Right after a cycle the log has a line of its own for it.
    fn hand_out(&mut self, after_cycle: bool) {
        while let Some((id, work)) = self.scheduler.poll_action() {
            match &work {
                Work::Record(record) => log(record, after_cycle),
                _ => self.unanswered += 1,
            }
            // The other end lasts as long as this one.
            let _ = self.wires.work.send((id, work));
        }
    }

    /// Waits until there is something to do.
    async fn wait(&mut self, deadline: Option<Duration>) {
        let complaint = (!self.awaited.is_empty()).then_some(self.next_complaint);
        let swap = self.wires.swaps.next_complaint();
        let until = [self.scheduler.poll_timeout(), complaint, swap, deadline];
        let until = until.into_iter().flatten().min().map(|it| self.clock.at(it));
        let timer = async {
            match until {
                Some(until) => tokio::time::sleep_until(until).await,
                None => std::future::pending().await,
            }
        };
        let stopping = deadline.is_some();
        let waits_to_lead = !self.wires.gate.is_open();
        tokio::select! {
            Some((id, result)) = self.wires.results.recv() => {
                self.unanswered -= 1;
                let now = self.now();
                self.scheduler.handle_result(now, id, result);
            }
            Some(told) = self.wires.told.recv() => self.take(told),
            () = self.wires.gate.opened(), if waits_to_lead => {}
            swap = self.wires.swaps.next() => {
                let now = self.now();
                self.wires.swaps.wait_for(swap, now);
            }
            () = timer => {}
            () = self.stop.cancelled(), if !stopping => {}
        }
        self.complain();
        self.hand_out(false);
    }

    /// Says what scheduling waits for, when it waits for long.
    fn complain(&mut self) {
        let now = self.now();
        self.wires.swaps.complain(now);
        if self.awaited.is_empty() || self.now() < self.next_complaint {
            return;
        }
        self.next_complaint = self.now() + 3 * SYNC_PATIENCE;
        let kinds: Vec<_> = self.awaited.iter().map(|it| it.plural()).collect();
        tracing::warn!(kinds = kinds.join(","), "no pod is scheduled before these are known");
    }
}

fn log(record: &EventRecord, after_cycle: bool) {
    match record.reason {
        "Scheduled" => logs::bound(record),
        "FailedScheduling" if !after_cycle => logs::binding_failed(record),
        _ => {}
    }
}
