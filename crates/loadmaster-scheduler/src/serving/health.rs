//! Health checks in the API's text format.
//!
//! Source: apiserver, `pkg/server/healthz/healthz.go`, v1.36.

use std::{fmt::Write as _, sync::atomic::Ordering};

use http::StatusCode;
use tokio::time::Instant;

use super::{
    Board,
    reply::{self, Reply, TEXT, reply},
};

/// A check by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Check {
    /// The process answers.
    Ping,
    /// A leader renews its lease, or ends.
    LeaderElection,
    /// The process is not about to end.
    Shutdown,
    /// Every kind of object that is watched was listed once.
    HandlerSync,
    /// No call into a plugin goes on for ever. Not in upstream.
    PluginCalls,
}

/// A path, and what it checks.
const GROUPS: [&str; 3] = ["healthz", "livez", "readyz"];

impl Check {
    fn name(self) -> &'static str {
        match self {
            Self::Ping => "ping",
            Self::LeaderElection => "leaderElection",
            Self::Shutdown => "shutdown",
            Self::HandlerSync => "sched-handler-sync",
            Self::PluginCalls => "plugin-calls",
        }
    }
}

/// The health of the process.
#[derive(Clone, Debug)]
pub(super) struct Health {
    board: Board,
}

impl Health {
    pub(super) fn new(board: Board) -> Self {
        Self { board }
    }

    /// What answers at `path`, if that is one of health's.
    pub(super) fn answer(&self, path: &str, query: &str) -> Option<Reply> {
        let mut parts = path.strip_prefix('/')?.splitn(2, '/');
        let group = GROUPS.into_iter().find(|it| parts.clone().next() == Some(it))?;
        parts.next();
        let checks = self.checks(group);
        let Some(name) = parts.next() else { return Some(self.all(group, &checks, query)) };
        let check = checks.into_iter().find(|it| it.name() == name)?;
        Some(match self.run(check) {
            Ok(()) => reply(StatusCode::OK, TEXT, "ok"),
            Err(why) => {
                let text = format!("internal server error: {why}");
                reply::error(StatusCode::INTERNAL_SERVER_ERROR, &text)
            }
        })
    }

    /// What a path checks, upstream's first and in its order.
    fn checks(&self, group: &str) -> Vec<Check> {
        let election = self.board.leader().map(|_| Check::LeaderElection);
        match group {
            "livez" => vec![Check::Ping, Check::PluginCalls],
            "readyz" => election.into_iter().chain([Check::Shutdown, Check::HandlerSync]).collect(),
            _ => vec![election.unwrap_or(Check::Ping), Check::PluginCalls],
        }
    }

    fn all(&self, group: &str, checks: &[Check], query: &str) -> Reply {
        let words = || query.split('&').map(|it| it.split_once('=').unwrap_or((it, "")));
        let mut excluded: Vec<&str> =
            words().filter(|it| it.0 == "exclude").map(|it| it.1).collect();
        excluded.sort_unstable();
        excluded.dedup();
        let mut text = String::new();
        let mut failed = Vec::new();
        for check in checks {
            let name = check.name();
            let is_excluded = excluded.contains(&name);
            let found = if is_excluded { Ok(()) } else { self.run(*check) };
            if !is_excluded {
                self.board.measures().families().slis.observe(name, group, found.is_ok());
            }
            let _ = if is_excluded {
                excluded.retain(|it| *it != name);
                writeln!(text, "[+]{name} excluded: ok")
            } else if let Err(why) = found {
                tracing::warn!(check = name, of = group, why, "health check failed");
                failed.push(name);
                writeln!(text, "[-]{name} failed: reason withheld")
            } else {
                writeln!(text, "[+]{name} ok")
            };
        }
        if !excluded.is_empty() {
            let names: Vec<_> = excluded.iter().map(|it| reply::go_quoted(it)).collect();
            let _ = writeln!(
                text,
                "warn: some health checks cannot be excluded: no matches for {}",
                names.join(",")
            );
        }
        if !failed.is_empty() {
            let text = format!("{text}{group} check failed");
            return reply::error(StatusCode::INTERNAL_SERVER_ERROR, &text);
        }
        if words().any(|it| it.0 == "verbose") {
            reply(StatusCode::OK, TEXT, format!("{text}{group} check passed\n"))
        } else {
            reply(StatusCode::OK, TEXT, "ok")
        }
    }

    fn run(&self, check: Check) -> Result<(), String> {
        let shown = &self.board.0;
        match check {
            Check::LeaderElection => match self.board.leader() {
                Some(leader) => leader.check(Instant::now()),
                None => Ok(()),
            },
            Check::Shutdown if shown.stopping.is_cancelled() => {
                Err("process is shutting down".to_owned())
            }
            Check::HandlerSync if !shown.synced.load(Ordering::Relaxed) => {
                Err("handlers are not fully synchronized".to_owned())
            }
            Check::Ping | Check::Shutdown | Check::HandlerSync => Ok(()),
            Check::PluginCalls => self.plugin_calls(),
        }
    }

    fn plugin_calls(&self) -> Result<(), String> {
        let limit = self.board.0.stuck_after;
        limit.and_then(|it| self.board.call_longer_than(it)).map_or(Ok(()), Err)
    }
}
