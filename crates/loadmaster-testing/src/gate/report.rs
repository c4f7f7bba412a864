//! What came of the gate.

use std::fmt;

use serde_json::{Value, json};

use super::Mode;

/// What came of one check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// What must hold.
    pub check: &'static str,
    /// How the plugins were broken for it, if they were.
    pub broken: Option<&'static str>,
    /// What does not hold, if something does not.
    pub failure: Option<String>,
}

impl Outcome {
    /// Whether it came out as it should: holding, or failing where the plugins are broken.
    pub fn is_right(&self) -> bool {
        self.broken.is_some() == self.failure.is_some()
    }
}

/// What came of all checks: displayed, a line or two for each.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// Which framework they were run over.
    pub mode: Mode,
    /// The checks, in order.
    pub outcomes: Vec<Outcome>,
}

impl Report {
    /// Whether every check came out as it should.
    pub fn is_right(&self) -> bool {
        self.outcomes.iter().all(Outcome::is_right)
    }

    /// For programs: `version`, `mode`, `passed`, and each check with its `failure`.
    pub fn to_json(&self) -> Value {
        let checks = self.outcomes.iter().map(|it| {
            json!({
                "check": it.check,
                "broken": it.broken,
                "failure": it.failure,
                "passed": it.is_right(),
            })
        });
        let mode = match self.mode {
            Mode::Check => "check",
            Mode::Break => "break",
        };
        let checks = checks.collect::<Vec<_>>();
        json!({"version": 1, "mode": mode, "passed": self.is_right(), "checks": checks})
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for Outcome { check, broken, failure } in &self.outcomes {
            match (broken, failure) {
                (None, None) => writeln!(f, "ok      {check}")?,
                (None, Some(failure)) => writeln!(f, "FAILED  {check}\n        {failure}")?,
                (Some(broken), Some(failure)) => writeln!(
                    f,
                    "caught  {check}\n        broken: {broken}\n        failed: {failure}"
                )?,
                (Some(broken), None) => writeln!(
                    f,
                    "MISSED  {check}\n        broken: {broken}\n        and the check still passes"
                )?,
            }
        }
        let right = self.outcomes.iter().filter(|it| it.is_right()).count();
        let all = self.outcomes.len();
        match self.mode {
            Mode::Check => writeln!(f, "{right} of {all} checks passed"),
            Mode::Break => writeln!(f, "{right} of {all} broken variants were caught"),
        }
    }
}
