//! The core's side of a reload: another configuration waits until everything is known that its
//! plugins read, and takes over between two cycles.

use std::{collections::BTreeSet, time::Duration};

use loadmaster_core::scheduler::{OptionsError, Replaced, Scheduler, SchedulerOptions};
use loadmaster_k8s::kind::Kind;
use tokio::sync::mpsc;

use super::extenders::Extenders;

/// Another configuration.
pub(super) struct Swap {
    /// Later ones have higher numbers.
    pub(super) generation: u64,
    pub(super) options: SchedulerOptions,
    /// What must be known before it can take over.
    pub(super) kinds: BTreeSet<Kind>,
    pub(super) extenders: Extenders,
}

/// What came of it.
#[derive(Debug)]
pub(super) enum Report {
    /// It has taken over.
    Swapped { generation: u64, replaced: Replaced },
    /// It cannot take over; what was in use stays.
    Refused { generation: u64, error: OptionsError },
    /// No pod is with the plugins of an earlier one any more.
    Retired { generation: u64 },
    /// Every object of the kind is forgotten.
    Forgotten(Kind),
}

/// Configurations on their way to the core, and what comes of them.
pub(super) struct Swaps {
    incoming: mpsc::UnboundedReceiver<Swap>,
    reports: mpsc::UnboundedSender<Report>,
    /// Kinds of which everything has been told.
    known: BTreeSet<Kind>,
    pending: Option<Pending>,
    /// The generation in use, while pods are with the plugins of earlier ones.
    retiring: Option<u64>,
}

struct Pending {
    swap: Swap,
    next_complaint: Duration,
}

/// How long a configuration may wait before the log says for what.
const PATIENCE: Duration = Duration::from_secs(10);

impl Swaps {
    pub(super) fn new(
        incoming: mpsc::UnboundedReceiver<Swap>,
        reports: mpsc::UnboundedSender<Report>,
    ) -> Self {
        Self { incoming, reports, known: BTreeSet::new(), pending: None, retiring: None }
    }

    /// Waits for the next configuration; for ever where none will come.
    pub(super) async fn next(&mut self) -> Swap {
        match self.incoming.recv().await {
            Some(swap) => swap,
            None => std::future::pending().await,
        }
    }

    /// A configuration arrived. It takes the place of one that still waits.
    pub(super) fn wait_for(&mut self, swap: Swap, now: Duration) {
        self.pending = Some(Pending { swap, next_complaint: now + PATIENCE });
    }

    /// Everything of the kind has been told.
    pub(super) fn synced(&mut self, kind: Kind) {
        self.known.insert(kind);
    }

    /// The kind is not watched any more and forgotten.
    pub(super) fn forgotten(&mut self, kind: Kind) {
        self.known.remove(&kind);
        self.report(Report::Forgotten(kind));
    }

    /// When the log is to say what the next configuration waits for.
    pub(super) fn next_complaint(&self) -> Option<Duration> {
        self.pending.as_ref().map(|it| it.next_complaint)
    }

    /// Says what the next configuration waits for, when it waits for long.
    pub(super) fn complain(&mut self, now: Duration) {
        let Some(pending) = self.pending.as_mut().filter(|it| it.next_complaint <= now) else {
            return;
        };
        pending.next_complaint = now + 3 * PATIENCE;
        let missing = pending.swap.kinds.difference(&self.known);
        let kinds = missing.map(|it| it.plural()).collect::<Vec<_>>().join(",");
        tracing::warn!(
            kinds,
            "the new configuration takes over once these are known; the old one is in use until then"
        );
    }

    /// Between two cycles: lets a configuration take over for which everything is known. Returns the
    /// kinds that scheduling rests on from here on, and its extenders.
    pub(super) fn take_over(
        &mut self,
        scheduler: &mut Scheduler,
        now: Duration,
    ) -> Option<(BTreeSet<Kind>, Extenders)> {
        while let Ok(swap) = self.incoming.try_recv() {
            self.wait_for(swap, now);
        }
        let ready = self.pending.take_if(|it| it.swap.kinds.is_subset(&self.known));
        let taken_over = ready.and_then(|it| self.swap(scheduler, now, it.swap));
        if self.retiring.is_some() && scheduler.forget_superseded() {
            let generation = self.retiring.take().unwrap_or_default();
            self.report(Report::Retired { generation });
        }
        taken_over
    }

    fn swap(
        &mut self,
        scheduler: &mut Scheduler,
        now: Duration,
        swap: Swap,
    ) -> Option<(BTreeSet<Kind>, Extenders)> {
        let Swap { generation, options, kinds, extenders } = swap;
        match scheduler.replace_profiles(now, options) {
            Ok(replaced) => {
                self.retiring = Some(generation);
                self.report(Report::Swapped { generation, replaced });
                Some((kinds, extenders))
            }
            Err(error) => {
                self.report(Report::Refused { generation, error });
                None
            }
        }
    }

    fn report(&self, report: Report) {
        // Where nobody listens, nothing is reloaded any more.
        let _ = self.reports.send(report);
    }
}

#[cfg(test)]
mod tests {
    use loadmaster_config::RegistryCatalog;
    use loadmaster_framework::Gates;

    use super::*;

    /// A scheduler's options with one profile of this name.
    fn options(name: &str) -> SchedulerOptions {
        let text = format!(
            "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n\
             profiles: [{{schedulerName: {name}}}]\n"
        );
        let (registry, gates) = (loadmaster_plugins::registry(), Gates::default());
        let catalog = RegistryCatalog::new(&registry, &gates);
        let loaded = loadmaster_config::load(&text, "test", &catalog).unwrap();
        SchedulerOptions::from_config(&loaded, &registry, &gates).unwrap()
    }

    struct Desk {
        swaps: Swaps,
        scheduler: Scheduler,
        send: mpsc::UnboundedSender<Swap>,
        reports: mpsc::UnboundedReceiver<Report>,
    }

    impl Desk {
        /// A scheduler whose profile is `first`.
        fn new() -> Self {
            let (send, incoming) = mpsc::unbounded_channel();
            let (report, reports) = mpsc::unbounded_channel();
            let scheduler = Scheduler::new(options("first")).unwrap();
            Self { swaps: Swaps::new(incoming, report), scheduler, send, reports }
        }

        async fn send(&self, generation: u64, name: &str, kinds: &[Kind]) {
            let extenders = Extenders::new(&[]).await.unwrap();
            let kinds = kinds.iter().copied().collect();
            let swap = Swap { generation, options: options(name), kinds, extenders };
            self.send.send(swap).ok().unwrap();
        }

        /// The name of the profile in use, after a moment between two cycles.
        fn profile(&mut self) -> String {
            self.swaps.take_over(&mut self.scheduler, Duration::ZERO);
            self.scheduler.profiles().next().unwrap().scheduler_name().to_string()
        }
    }

    #[tokio::test]
    async fn a_configuration_waits_until_everything_is_known_that_it_reads() {
        let mut desk = Desk::new();
        desk.swaps.synced(Kind::Pod);
        desk.send(1, "second", &[Kind::Pod, Kind::Namespace]).await;
        assert_eq!(desk.profile(), "first");
        desk.swaps.synced(Kind::Namespace);
        assert_eq!(desk.profile(), "second");
        assert!(matches!(desk.reports.try_recv(), Ok(Report::Swapped { generation: 1, .. })));
        // No pod was with the plugins of before.
        assert!(matches!(desk.reports.try_recv(), Ok(Report::Retired { generation: 1 })));
    }

    #[tokio::test]
    async fn a_later_configuration_takes_the_place_of_one_that_waits() {
        let mut desk = Desk::new();
        desk.send(1, "second", &[Kind::Namespace]).await;
        assert_eq!(desk.profile(), "first");
        desk.send(2, "third", &[]).await;
        assert_eq!(desk.profile(), "third");
        desk.swaps.synced(Kind::Namespace);
        assert_eq!(desk.profile(), "third");
    }

    #[tokio::test]
    async fn what_is_forgotten_must_be_told_again() {
        let mut desk = Desk::new();
        desk.swaps.synced(Kind::Namespace);
        desk.swaps.forgotten(Kind::Namespace);
        desk.send(1, "second", &[Kind::Namespace]).await;
        assert_eq!(desk.profile(), "first");
        assert!(matches!(desk.reports.try_recv(), Ok(Report::Forgotten(Kind::Namespace))));
    }
}
