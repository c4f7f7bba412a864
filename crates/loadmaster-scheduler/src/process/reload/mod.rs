//! The configuration file is looked at again and again; what it comes to takes over while the
//! scheduler runs.
//!
//! A changed file is built and checked like at the start. What its plugins read beside what is
//! watched already is watched first; once that is known, the core lets the new configuration take
//! over between two cycles ([`swap`](super::swap)). Kinds that nobody needs any more are watched
//! until no pod is with the plugins of an earlier configuration, and then forgotten.

mod file;
mod restart;
mod status;

use std::{collections::BTreeSet, time::Duration};

use loadmaster_config::KubeSchedulerConfiguration;
use loadmaster_core::scheduler::{EventType, Replaced, SchedulerOptions};
use loadmaster_framework::Feed;
use loadmaster_k8s::{
    events::announce::{Announcement, Announcer},
    kind::Kind,
    needs,
    rest::Rest,
    watch::Watches,
};
use tokio::{
    sync::mpsc,
    time::{Instant, sleep_until},
};

use crate::serving::Board;

use super::{
    StartChecks,
    extenders::Extenders,
    feeds::Feeds,
    swap::{Report, Swap},
};
pub(crate) use file::{ConfigFile, INTERVAL};
use status::ReloadResult;

/// What a configuration comes to.
pub(crate) struct Blueprint {
    /// The settings.
    pub(crate) config: KubeSchedulerConfiguration,
    /// The profiles, built.
    pub(crate) options: SchedulerOptions,
    /// What must be permitted before it is taken up.
    pub(crate) checks: StartChecks,
    /// What its plugins read from elsewhere.
    pub(crate) feeds: Vec<Feed>,
    /// All of it with every default filled in, as JSON.
    pub(crate) shown: String,
    /// What is probably not meant, with its place.
    pub(crate) warnings: Vec<String>,
}

/// Reads, checks and builds the configuration that the command line names.
///
/// # Errors
/// What is wrong with it, in the words of `config check`.
pub(crate) type Build = Box<dyn Fn() -> anyhow::Result<Blueprint> + Send + Sync>;

/// Looks after the configuration of a scheduler that runs.
pub(super) struct Reloader {
    pub(super) file: ConfigFile,
    pub(super) build: Build,
    /// Asks the server what is permitted.
    pub(super) rest: Rest,
    pub(super) watches: Watches,
    pub(super) fetched: Feeds,
    pub(super) swaps: mpsc::UnboundedSender<Swap>,
    pub(super) reports: mpsc::UnboundedReceiver<Report>,
    pub(super) announcer: Announcer,
    pub(super) board: Board,
    /// The configuration that the process was started with.
    pub(super) started_with: KubeSchedulerConfiguration,
    /// What the configuration in use needs to know.
    pub(super) kinds: BTreeSet<Kind>,
    /// What it reads from elsewhere.
    pub(super) feeds: Vec<Feed>,
    /// The number of the last one that was handed to the core.
    pub(super) generation: u64,
    /// The one that the core has not answered yet.
    pub(super) asked: Option<Asked>,
    /// The one that may not do what it needs.
    pub(super) denied: Option<Denied>,
}

/// A configuration that was refused for want of permissions, which may be granted any time.
pub(super) struct Denied {
    /// What was said about it.
    error: String,
    /// When to ask again.
    again: Instant,
}

/// How often it is asked again whether a configuration may do what it needs.
const ASK_AGAIN: Duration = Duration::from_secs(10);

/// A configuration on its way to the core.
pub(super) struct Asked {
    kinds: BTreeSet<Kind>,
    feeds: Vec<Feed>,
    shown: String,
    /// Fields that hold from the start to the end of the process and are others now.
    restart_needed: Vec<String>,
    /// What the file held.
    digest: String,
}

impl Reloader {
    /// Runs until the core is gone.
    pub(super) async fn run(mut self) {
        self.fetched.start(&self.feeds, &self.watches);
        loop {
            tokio::select! {
                () = self.file.changed() => {
                    self.denied = None;
                    self.reload().await;
                }
                () = asks_again(self.denied.as_ref()) => self.reload().await,
                report = self.reports.recv() => match report {
                    Some(report) => self.take(report).await,
                    None => return,
                },
            }
        }
    }

    /// Builds what the file holds now, and hands it to the core.
    async fn reload(&mut self) {
        let blueprint = match (self.build)() {
            Ok(blueprint) => blueprint,
            Err(error) => {
                self.denied = None;
                return self.refused(&format!("{error:#}")).await;
            }
        };
        let Blueprint { config, options, checks, feeds, shown, warnings } = blueprint;
        if let Err(error) = checks.permit_change(&self.rest).await {
            return self.deny(error.to_string()).await;
        }
        self.denied = None;
        for warning in warnings {
            tracing::warn!("{warning}");
        }
        let extenders = match Extenders::new(&config.extenders).await {
            Ok(extenders) => extenders,
            Err(error) => return self.refused(&error.to_string()).await,
        };
        let kinds = needs::kinds_of(&options.profiles);
        for kind in &kinds {
            self.watches.add(*kind);
        }
        // Nothing waits for a feed; what is new begins as early as possible.
        self.fetched.start(&feeds, &self.watches);
        self.generation += 1;
        self.asked = Some(Asked {
            kinds: kinds.clone(),
            feeds,
            shown,
            restart_needed: restart::changed_fields(&self.started_with, &config),
            digest: self.file.digest(),
        });
        let swap = Swap { generation: self.generation, options, kinds, extenders };
        // A core that is gone is noticed where its reports end.
        let _ = self.swaps.send(swap);
    }

    async fn take(&mut self, report: Report) {
        match report {
            Report::Swapped { generation, replaced } => {
                if let Some(asked) = self.answered(generation) {
                    self.swapped(asked, &replaced).await;
                }
            }
            Report::Refused { generation, error } => {
                if self.answered(generation).is_some() {
                    self.refused(&error.to_string()).await;
                }
            }
            Report::Retired { generation } if generation == self.generation => {
                self.end_watches().await;
            }
            // A later one is on its way and may need what this one does not.
            Report::Retired { .. } | Report::Forgotten(_) => {}
        }
    }

    /// The configuration of this number was answered; `None` where a later one is on its way.
    fn answered(&mut self, generation: u64) -> Option<Asked> {
        if generation == self.generation { self.asked.take() } else { None }
    }

    async fn swapped(&mut self, asked: Asked, replaced: &Replaced) {
        let Asked { kinds, feeds, shown, restart_needed, digest } = asked;
        self.board.set_config(&shown);
        self.kinds = kinds;
        self.feeds = feeds;
        self.fetched.replace(&self.feeds, &self.watches).await;
        let names = |list: &[_]| list.iter().map(ToString::to_string).collect::<Vec<_>>().join(",");
        let Replaced { superseded, adopted, dropped, .. } = replaced;
        tracing::info!(
            profiles_added = names(&replaced.added),
            profiles_removed = names(&replaced.removed),
            pods_adopted = adopted,
            pods_dropped = dropped,
            pods_with_old_plugins = superseded,
            digest,
            "the new configuration is in use"
        );
        if restart_needed.is_empty() {
            self.count(ReloadResult::Applied, &digest);
            let note = "The configuration file was changed and is in use.".to_owned();
            return self.announce(EventType::Normal, "ConfigReloaded", note).await;
        }
        self.count(ReloadResult::RestartNeeded, &digest);
        let fields = restart_needed.join(", ");
        tracing::warn!(
            fields,
            "restart needed: these fields hold from the start of the process; the rest of the new \
             configuration is in use"
        );
        let note = format!("Restart needed for {fields}; the rest of the changed file is in use.");
        self.announce(EventType::Warning, "ConfigRestartNeeded", note).await;
    }

    async fn refused(&mut self, error: &str) {
        tracing::error!(
            "the changed configuration is refused and the old one stays in use: {error}"
        );
        self.count(ReloadResult::Refused, &self.file.digest());
        let note = format!("The changed file is refused, the old one stays in use: {error}");
        self.announce(EventType::Warning, "ConfigRefused", note).await;
    }

    /// Refuses a configuration until it may do what it needs; said once.
    async fn deny(&mut self, error: String) {
        let again = Instant::now() + ASK_AGAIN;
        let before = self.denied.replace(Denied { error: error.clone(), again });
        if before.is_none_or(|it| it.error != error) {
            self.refused(&error).await;
        }
    }

    /// Ends watches that nobody needs. The next configuration is handed on only when the core has
    /// forgotten what they told, so that it cannot take that for known.
    async fn end_watches(&mut self) {
        self.fetched.keep(&self.feeds).await;
        let unneeded: Vec<_> = self.watches.kinds().filter(|it| !self.kinds.contains(it)).collect();
        for kind in unneeded {
            tracing::info!(kind = kind.plural(), "no plugin reads this kind any more");
            self.watches.end(kind).await;
            while let Some(report) = self.reports.recv().await {
                if matches!(report, Report::Forgotten(it) if it == kind) {
                    break;
                }
            }
        }
    }

    fn count(&self, result: ReloadResult, digest: &str) {
        let families = self.board.measures().families();
        families.config_reloads.with_label_values(&[result.as_str()]).inc();
        // One content of the file at a time.
        families.config_reload_successful.reset();
        let successful = families.config_reload_successful.with_label_values(&[digest]);
        successful.set(i64::from(result != ReloadResult::Refused));
    }

    async fn announce(&self, kind: EventType, reason: &'static str, note: String) {
        self.announcer.announce(Announcement { kind, reason, action: "Reloading", note }).await;
    }
}

/// Waits until it is to be asked again; for ever where nothing was denied.
async fn asks_again(denied: Option<&Denied>) {
    match denied {
        Some(denied) => sleep_until(denied.again).await,
        None => std::future::pending().await,
    }
}
