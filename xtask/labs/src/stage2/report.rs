//! What stage 2 saw, for people, for programs, and to be kept.

use std::fmt;

use anyhow::Context as _;
use serde::Serialize;

use super::{Seen, deployed::Leader, image::Image};
use crate::stage1::{self, profile::Profile, source::Served};

/// What was seen.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Report {
    image: Image,
    leader: Leader,
    restart: Restart,
    #[serde(flatten)]
    workload: stage1::report::Report,
}

/// That another process came to lead.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Restart {
    /// `killed` or `deleted`.
    pub(crate) how: &'static str,
    /// How long nobody led, in seconds.
    pub(crate) seconds: u64,
    /// Who leads since then.
    pub(crate) after: Leader,
}

impl Report {
    pub(crate) fn new(profile: &Profile, cluster: String, points: Vec<Served>, seen: Seen) -> Self {
        let Seen { image, nodes, placements, leader, restart } = seen;
        let workload = stage1::report::Report::new(profile, cluster, nodes, placements, points);
        Self { image, leader, restart, workload }
    }

    pub(crate) fn json(&self) -> anyhow::Result<String> {
        serde_json::to_string_pretty(self).context("cannot write the report")
    }

    /// Whether the second placement is more concentrated than the first.
    pub(crate) fn has_changed(&self) -> bool {
        self.workload.changed
    }

    /// What to look at when nothing changed.
    pub(crate) fn explanation(&self) -> String {
        self.workload.explanation()
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { image, leader, restart, workload } = self;
        write!(f, "{workload}")?;
        writeln!(f, "\nImage {} at {}:\n  {}", image.reference, image.registry, image.digest)?;
        writeln!(f, "Leader: pod {} on {}, {}", leader.pod, leader.node, leader.container)?;
        writeln!(
            f,
            "  {}; after {} s the pod {} led, restarted {} times",
            restart.how, restart.seconds, restart.after.pod, restart.after.restarts
        )
    }
}
