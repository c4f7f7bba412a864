//! Recorded decisions of kube-scheduler 1.36.2, and a runner that compares ours with them.
//!
//! The cases and their format are described in `data/golden/README.md`. A case **passes** when
//! every recorded field is equal; it **deviates** when it is not and a [rule](RULES) explains the
//! difference; else it **fails**.
//!
//! ```no_run
//! use loadmaster_testing::golden;
//!
//! let report = golden::run(&golden::default_dir(), &golden::Filter::default())?;
//! assert!(!report.failed(), "{report}");
//! # Ok::<(), golden::GoldenError>(())
//! ```

mod configs;
mod decision;
mod deviation;
mod difference;
mod hints;
mod kinds;
mod quantities;
mod read;
mod report;
mod sampling;
mod sequences;
#[cfg(test)]
mod tests;

use std::{
    panic,
    path::{Path, PathBuf},
};

use serde_json::Value;

pub use deviation::{RULES, Rule};
pub use difference::{Difference, differences};
pub use read::GoldenError;
pub use report::{CaseResult, Family, Report, Verdict};

/// Which cases to run; the default is all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    /// Only this family: `02-taints`, or a part of the name such as `02` or `taints`.
    pub family: Option<String>,
    /// Only the case of this id.
    pub case: Option<String>,
}

/// Where the recorded cases are in the source tree.
pub fn default_dir() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("data/golden")
}

/// Compares the case in a line with what we come to.
type Check = fn(&str) -> serde_json::Result<Vec<Difference>>;

/// How the cases of a family are compared.
fn check_of(family: &str) -> Check {
    match family.split_once('-').map_or(family, |(_, subject)| subject) {
        "quantities" => quantities::check,
        "config" => configs::check,
        "hints" => hints::check,
        "sampling" => sampling::check,
        "sequences" => sequences::check,
        _ => decision::check,
    }
}

/// Runs the cases of every `*.jsonl` and `*.jsonl.zst` in `dir` that `filter` lets through.
///
/// # Errors
/// When a file cannot be read or a line has no id, and when there is nothing to run.
pub fn run(dir: &Path, filter: &Filter) -> Result<Report, GoldenError> {
    let files = read::files(dir, filter.family.as_deref())?;
    // Families are independent of each other; each takes a thread, and the report keeps the order.
    let families = std::thread::scope(|scope| {
        let running: Vec<_> = files
            .iter()
            .map(|file| scope.spawn(|| run_family(file, filter.case.as_deref())))
            .collect();
        running
            .into_iter()
            .map(|it| it.join().expect("the runner itself does not panic"))
            .collect::<Result<Vec<_>, _>>()
    })?;
    let families: Vec<_> = families.into_iter().filter(|it| !it.cases.is_empty()).collect();
    match (families.is_empty(), &filter.case) {
        (true, Some(id)) => Err(GoldenError::NoCase { id: id.clone() }),
        (true, None) => Err(GoldenError::NoFiles { dir: dir.to_owned() }),
        (false, _) => Ok(Report { families }),
    }
}

fn run_family(file: &Path, only: Option<&str>) -> Result<Family, GoldenError> {
    let name = read::family(file).to_owned();
    let check = check_of(&name);
    let mut cases = Vec::new();
    for (at, line) in read::text(file)?.lines().enumerate() {
        let decode = |source| GoldenError::Decode { file: file.to_owned(), line: at + 1, source };
        let id = read::id(line).map_err(decode)?;
        if only.is_none_or(|only| only == id) {
            cases.push(CaseResult { verdict: verdict(line, check), id });
        }
    }
    Ok(Family { name, cases })
}

/// How the case in `line` comes out. One that cannot be read, or that brings the runner down, fails
/// alone.
fn verdict(line: &str, check: Check) -> Verdict {
    let failed = |path: &str, why: String| {
        let (path, expected, actual) = (path.to_owned(), Value::Null, Value::String(why));
        Verdict::Failed { differences: vec![Difference { path, expected, actual }] }
    };
    let checked = panic::catch_unwind(|| {
        let differences = check(line)?;
        let rule = deviation::rule(line, &differences, check)?;
        Ok::<_, serde_json::Error>((differences, rule))
    });
    match checked {
        Ok(Ok((differences, _))) if differences.is_empty() => Verdict::Passed,
        Ok(Ok((differences, Some(rule)))) => Verdict::Deviates { rule: rule.name, differences },
        Ok(Ok((differences, None))) => Verdict::Failed { differences },
        Ok(Err(error)) => failed("(not a case of this family)", error.to_string()),
        Err(payload) => {
            let text = payload.downcast_ref::<String>().cloned();
            failed("(panic)", text.unwrap_or_else(|| "no message".to_owned()))
        }
    }
}
