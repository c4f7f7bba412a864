//! What came of a run.

use std::{collections::BTreeMap, fmt};

use serde::Serialize;

use super::Difference;

/// How a case came out.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "verdict", rename_all = "camelCase")]
pub enum Verdict {
    /// Every recorded field is equal.
    Passed,
    /// Something differs, and a rule says why that is meant.
    Deviates {
        /// The rule's name in `docs/deviations.md`.
        rule: &'static str,
        /// What differs.
        differences: Vec<Difference>,
    },
    /// Something differs.
    Failed {
        /// What differs.
        differences: Vec<Difference>,
    },
}

/// A case and how it came out.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CaseResult {
    /// The case's id.
    pub id: String,
    /// How it came out.
    #[serde(flatten)]
    pub verdict: Verdict,
}

/// The cases of one file.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Family {
    /// The family's name, `02-taints`.
    pub name: String,
    /// Its cases, in the file's order.
    pub cases: Vec<CaseResult>,
}

impl Family {
    /// How many cases passed.
    pub fn passed(&self) -> usize {
        self.cases.iter().filter(|it| it.verdict == Verdict::Passed).count()
    }

    /// The cases that deviate on purpose, with the rule's name.
    pub fn deviating(&self) -> impl Iterator<Item = (&str, &'static str)> {
        self.cases.iter().filter_map(|it| match it.verdict {
            Verdict::Deviates { rule, .. } => Some((&*it.id, rule)),
            _ => None,
        })
    }

    /// The cases that failed, with what differs.
    pub fn failed(&self) -> impl Iterator<Item = (&str, &[Difference])> {
        self.cases.iter().filter_map(|it| match &it.verdict {
            Verdict::Failed { differences } => Some((&*it.id, &**differences)),
            _ => None,
        })
    }
}

/// What came of a run: displayed, a line for each family, and below it the cases that failed.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Report {
    /// The families, by name.
    pub families: Vec<Family>,
}

impl Report {
    /// Whether any case failed.
    pub fn failed(&self) -> bool {
        self.families.iter().any(|it| it.failed().next().is_some())
    }
}

/// Names the cases, one line for each reason.
fn group<'c>(
    f: &mut fmt::Formatter<'_>,
    what: &str,
    cases: impl Iterator<Item = (&'c str, &'static str)>,
) -> fmt::Result {
    let mut ids: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (id, reason) in cases {
        ids.entry(reason).or_default().push(id);
    }
    for (reason, ids) in ids {
        writeln!(f, "  {what} {reason}: {}", ids.join(", "))?;
    }
    Ok(())
}

/// So many differences of a case are shown, and so many failing cases of a family.
const SHOWN: usize = 3;

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for family in &self.families {
            write!(f, "{} {}/{}", family.name, family.passed(), family.cases.len())?;
            match family.deviating().count() {
                0 => {}
                1 => write!(f, " (1 deviates)")?,
                many => write!(f, " ({many} deviate)")?,
            }
            writeln!(f)?;
            group(f, "deviating by", family.deviating())?;
            for (id, differences) in family.failed().take(SHOWN) {
                writeln!(f, "  {id} FAILED")?;
                for difference in differences.iter().take(SHOWN) {
                    writeln!(f, "    {difference}")?;
                }
                if let more @ 1.. = differences.len().saturating_sub(SHOWN) {
                    writeln!(f, "    and {more} more differences")?;
                }
            }
            if let more @ 1.. = family.failed().count().saturating_sub(SHOWN) {
                writeln!(f, "  and {more} more failed; --family {} --output json", family.name)?;
            }
        }
        Ok(())
    }
}
