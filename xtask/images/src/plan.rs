//! How to build with the memory that there is: with less of it, fewer compilers at once, then less
//! optimisation across crates.

use std::fmt;

use serde::{Deserialize, Serialize};
use xtask_heavy::compilers;

use crate::{
    measure::{Ledger, What},
    size::Size,
};

/// How much is optimised across crates.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Lto {
    /// The whole program at once: the smallest program, the largest link.
    Fat,
    /// Summaries of the others for each crate.
    Thin,
    /// Nothing.
    Off,
}

impl fmt::Display for Lto {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Fat => "fat",
            Self::Thin => "thin",
            Self::Off => "off",
        })
    }
}

/// How to build.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// What, and with which settings.
    pub what: What,
    /// The memory that it takes.
    pub memory: Size,
    /// Whether that was measured here, or is what it took elsewhere.
    pub measured: bool,
    /// What was turned down, and why, in a sentence.
    pub lowered: Option<String>,
}

/// What a build took on the machine that these settings were chosen on, in MB: the link alone, or the
/// compilers of the largest dependencies beside each other.
fn elsewhere(lto: Lto, jobs: u32) -> Size {
    let link = match lto {
        Lto::Fat => 1450,
        Lto::Thin => 900,
        Lto::Off => 650,
    };
    Ord::max(Size::mebi(link), compilers::takes(jobs))
}

/// The ways to build `what`, each with less memory than the one before: with fewer jobs, then with less
/// optimisation across crates.
fn rungs(what: &What) -> Vec<What> {
    let mut rungs = vec![what.clone()];
    let mut jobs = what.jobs;
    while jobs > 1 {
        jobs /= 2;
        rungs.push(What { jobs, ..what.clone() });
    }
    let cheaper = [Lto::Thin, Lto::Off].into_iter().filter(|it| *it as u8 > what.lto as u8);
    rungs.extend(cheaper.map(|lto| What { lto, jobs: 1, ..what.clone() }));
    rungs
}

/// How to build once more after memory did not suffice, if there is a more modest way; `peak` is what
/// was taken until then. Where it was the link that was killed, fewer jobs would not have helped: it is
/// one compiler.
pub fn lower(plan: &Plan, peak: Size, linking: bool) -> Option<Plan> {
    let helps = |it: &What| it.lto != plan.what.lto || !linking;
    let what = rungs(&plan.what).into_iter().skip(1).find(helps)?;
    let lowered = format!(
        "the system killed a compiler because memory was short, when all of them had {peak}: again \
         with lto = {} and {} {}",
        what.lto,
        what.jobs,
        if what.jobs == 1 { "job" } else { "jobs" }
    );
    Some(Plan { what, lowered: Some(lowered), ..plan.clone() })
}

/// Chooses how to build `what`, whose `lto` and `jobs` are what one would like, with `room` to do it in.
///
/// Where even the most modest way takes more, it is that one, and its need tells so.
pub fn choose(what: &What, room: Size, ledger: &Ledger) -> Plan {
    let (wanted_lto, wanted_jobs) = (what.lto, what.jobs);
    let plans = rungs(what).into_iter().map(|what| {
        let measured = ledger.memory(&what);
        let memory = measured.unwrap_or_else(|| elsewhere(what.lto, what.jobs));
        Plan { what, memory, measured: measured.is_some(), lowered: None }
    });
    let mut plans = plans.collect::<Vec<_>>();
    let fits = plans.iter().position(|it| it.memory <= room).unwrap_or(plans.len() - 1);
    let wanted = plans[0].memory;
    let mut plan = plans.swap_remove(fits);
    if fits > 0 {
        plan.lowered = Some(format!(
            "there is {room} of memory, and lto = {wanted_lto} with {wanted_jobs} jobs takes {wanted}: \
             building with lto = {} and {} {} instead",
            plan.what.lto,
            plan.what.jobs,
            if plan.what.jobs == 1 { "job" } else { "jobs" }
        ));
    }
    plan
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::Measurement;

    fn what(lto: Lto, jobs: u32) -> What {
        What {
            package: "p".into(),
            binary: "b".into(),
            target: "x86_64-unknown-linux-gnu".into(),
            profile: "release".into(),
            lto,
            jobs,
        }
    }

    fn ledger(measured: &[(Lto, u32, u64)]) -> Ledger {
        let mut ledger = Ledger::default();
        for (lto, jobs, mebi) in measured {
            ledger.add(Measurement {
                what: what(*lto, *jobs),
                at: "2026-01-02T03:04:05Z".into(),
                wall_seconds: 1.0,
                peak_memory_bytes: Size::mebi(*mebi),
                binary_bytes: Size::default(),
                target_folder_bytes: Size::default(),
                target_growth_bytes: Size::default(),
            });
        }
        ledger
    }

    #[test]
    fn with_less_memory_first_jobs_then_optimisation_is_turned_down_and_told() {
        let ledger = ledger(&[
            (Lto::Fat, 4, 2000),
            (Lto::Fat, 2, 1500),
            (Lto::Fat, 1, 1000),
            (Lto::Thin, 1, 800),
            (Lto::Off, 1, 600),
        ]);
        for (room, lto, jobs) in [
            (2000, Lto::Fat, 4),
            (1999, Lto::Fat, 2),
            (1200, Lto::Fat, 1),
            (900, Lto::Thin, 1),
            (700, Lto::Off, 1),
            (100, Lto::Off, 1),
        ] {
            let plan = choose(&what(Lto::Fat, 4), Size::mebi(room), &ledger);
            assert_eq!((plan.what.lto, plan.what.jobs), (lto, jobs), "with {room} MB");
            assert_eq!(plan.lowered.is_some(), room < 2000, "{:?}", plan.lowered);
            assert!(plan.measured);
        }
        let told = choose(&what(Lto::Fat, 4), Size::mebi(900), &ledger).lowered.unwrap();
        assert!(told.contains("900 MB") && told.contains("takes 2000 MB"), "{told}");
        assert!(told.contains("lto = thin and 1 job instead"), "{told}");
    }

    #[test]
    fn what_was_killed_is_tried_again_with_less_until_nothing_less_is_left() {
        let plan = choose(&what(Lto::Fat, 2), Size::mebi(100_000), &Ledger::default());
        let first = lower(&plan, Size::mebi(2000), false).unwrap();
        assert_eq!((first.what.lto, first.what.jobs), (Lto::Fat, 1));
        let told = first.lowered.clone().unwrap();
        assert!(told.contains("had 2000 MB: again with lto = fat and 1 job"), "{told}");
        let second = lower(&first, Size::mebi(2000), false).unwrap();
        let third = lower(&second, Size::mebi(2000), false).unwrap();
        assert_eq!([second.what.lto, third.what.lto], [Lto::Thin, Lto::Off]);
        assert_eq!(lower(&third, Size::mebi(2000), false), None);
        // One compiler was killed: that there were two jobs made no difference.
        let link = lower(&plan, Size::mebi(2000), true).unwrap();
        assert_eq!((link.what.lto, link.what.jobs), (Lto::Thin, 1));
    }

    #[test]
    fn what_was_never_measured_is_taken_from_elsewhere() {
        let plan = choose(&what(Lto::Fat, 2), Size::mebi(100_000), &Ledger::default());
        assert!(!plan.measured && plan.memory >= Size::mebi(1000), "{plan:?}");
        assert_eq!(plan.lowered, None);
    }

    #[test]
    fn a_profile_without_optimisation_is_never_given_more() {
        let plan = choose(&what(Lto::Off, 1), Size::mebi(1), &Ledger::default());
        assert_eq!((plan.what.lto, plan.lowered), (Lto::Off, None));
    }
}
