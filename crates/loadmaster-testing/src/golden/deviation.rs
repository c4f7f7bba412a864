//! Where we differ from the recorded decisions on purpose: a rule for each public fault.
//!
//! The rules and their reasons are listed in `docs/deviations.md`; a test keeps the two lists equal.

use serde_json::Value;

use super::Difference;

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
    check: super::Check,
}

/// Every rule.
pub const RULES: &[Rule] = &[];

/// The rule that explains why the case in `line` differs, if one does.
pub(super) fn rule(
    line: &str,
    differences: &[Difference],
    check: super::Check,
) -> serde_json::Result<Option<&'static Rule>> {
    let case = serde_json::from_str(line)?;
    let deviation = Deviation { case: &case, differences, check };
    Ok(RULES.iter().find(|rule| (rule.explains)(&deviation)))
}
