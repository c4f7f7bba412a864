//! Where we differ from the recorded decisions on purpose: a rule for each public fault.
//!
//! A rule explains a case where possible by making the fault: it changes the input so that a
//! scheduler without the fault must come to what one with it came to, and the changed case must be
//! equal in everything. The rules and their reasons are listed in `docs/deviations.md`; a test
//! keeps the two lists equal.

mod affinity;
mod numbers;

use serde_json::Value;

use super::{Check, Difference};

/// A difference that is meant.
#[derive(Clone, Copy, Debug)]
pub struct Rule {
    /// Its name, the heading in `docs/deviations.md`.
    pub name: &'static str,
    /// Whether the rule explains all differences of the case.
    explains: fn(&Deviation<'_>) -> bool,
}

/// A case that differs.
struct Deviation<'a> {
    /// The case as it is recorded.
    case: &'a Value,
    /// In what it differs.
    differences: &'a [Difference],
    /// Runs a changed case of the same family.
    check: Check,
}

impl Deviation<'_> {
    /// Whether the case is equal in everything once `change` is made to its input.
    fn vanishes(&self, change: impl FnOnce(&mut Value)) -> bool {
        let mut case = self.case.clone();
        change(&mut case);
        case != *self.case && (self.check)(&case.to_string()).is_ok_and(|it| it.is_empty())
    }
}

/// Every rule.
pub const RULES: &[Rule] = &[
    Rule { name: "negative-quantities", explains: numbers::negative_quantities },
    Rule { name: "growing-pod-requests", explains: numbers::growing_pod_requests },
    Rule { name: "own-namespace-selector", explains: affinity::own_namespace_selector },
    Rule { name: "hint-namespace-selector", explains: affinity::hint_namespace_selector },
    Rule { name: "hint-any-anti-affinity-term", explains: affinity::hint_any_anti_affinity_term },
];

/// The rule that explains why the case in `line` differs, if one does.
pub(super) fn rule(
    line: &str,
    differences: &[Difference],
    check: Check,
) -> serde_json::Result<Option<&'static Rule>> {
    if differences.is_empty() {
        return Ok(None);
    }
    let case = serde_json::from_str(line)?;
    let deviation = Deviation { case: &case, differences, check };
    Ok(RULES.iter().find(|rule| (rule.explains)(&deviation)))
}
