//! What comes before a heavy step: which compilers, how much memory, and whether there is room.

use std::{collections::BTreeMap, path::PathBuf};

use anyhow::Context as _;
use xtask_images::{
    build::wanted,
    cross::{self, CannotBuild, Missing, Toolchain},
    doctor::{Machine, Needs, Reached, Report, Step, checks},
    measure::{Ledger, What},
    oci::Platform,
    plan::{self, Lto, Plan},
    recipe::Binary,
    site::Site,
    size::Size,
    topology::Topology,
};

use super::{NoRoom, UserError};
use crate::{
    options::build::{Effort, Lto as LtoOption},
    progress::note,
};

/// What the target folder grows by for a platform where that was not measured yet: a release build of
/// every dependency.
const GROWTH: Size = Size::mebi(800);

/// The builds that are about to begin, one after the other.
#[derive(Debug)]
pub(super) struct Prepared {
    pub(super) builds: Vec<(Toolchain, Plan)>,
}

/// The compilers that were named for a platform, `linux/arm64=PATH`.
pub(super) fn compilers(given: &[String]) -> anyhow::Result<BTreeMap<Platform, PathBuf>> {
    given.iter().map(|text| compiler(text)).collect()
}

fn compiler(text: &str) -> anyhow::Result<(Platform, PathBuf)> {
    let form =
        || UserError(format!("--rustc {text}: write PLATFORM=PATH, such as `linux/arm64=PATH`"));
    let (platform, path) = text.split_once('=').ok_or_else(form)?;
    let platform: Platform = platform.parse().map_err(|it| UserError(format!("--rustc: {it}")))?;
    let path = PathBuf::from(path);
    if !path.is_file() {
        let path = path.display();
        return Err(UserError(format!("--rustc {text}: there is no compiler {path}")).into());
    }
    let path = path.canonicalize().with_context(|| format!("cannot find {}", path.display()))?;
    Ok((platform, path))
}

/// The platforms of that list.
pub(super) fn platforms(given: &[String]) -> anyhow::Result<Vec<Platform>> {
    let parse =
        |it: &String| it.parse().map_err(|it| UserError(format!("--platform: {it}")).into());
    let mut platforms = given.iter().map(parse).collect::<anyhow::Result<Vec<Platform>>>()?;
    platforms.sort();
    platforms.dedup();
    Ok(platforms)
}

/// This machine's own platform.
pub(super) fn native() -> Platform {
    let architecture = match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    };
    Platform { architecture: architecture.into(), os: std::env::consts::OS.into(), variant: None }
}

/// What builds for each platform, or why nothing does.
pub(super) fn toolchains(
    platforms: &[Platform],
    compilers: &BTreeMap<Platform, PathBuf>,
) -> Vec<Result<Toolchain, Missing>> {
    let find =
        |it: &Platform| cross::find(it, compilers.get(it).map(PathBuf::as_path), &cross::Machine);
    platforms.iter().map(find).collect()
}

/// How `binary` is built for each platform with the memory that there is.
pub(super) fn plans<'a>(
    site: &Site,
    binary: &Binary,
    toolchains: impl Iterator<Item = &'a Toolchain>,
    effort: (Option<LtoOption>, Option<u32>),
    machine: &Machine,
    ledger: &Ledger,
) -> Vec<Plan> {
    let lto = effort.0.map(|it| match it {
        LtoOption::Fat => Lto::Fat,
        LtoOption::Thin => Lto::Thin,
        LtoOption::Off => Lto::Off,
    });
    let lto = lto.or_else(|| wanted(&site.root, &binary.profile)).unwrap_or(Lto::Off);
    let plan = |toolchain: &Toolchain| {
        let what = What {
            package: binary.package.clone(),
            binary: binary.name.clone(),
            target: toolchain.target.clone(),
            profile: binary.profile.clone(),
            lto,
            jobs: effort.1.unwrap_or(machine.cores),
        };
        plan::choose(&what, machine.room(), ledger)
    };
    toolchains.map(plan).collect()
}

/// By how much the target folder will grow.
pub(super) fn growth(plans: &[Plan], ledger: &Ledger) -> Size {
    let of = |it: &Plan| ledger.growth(&it.what).unwrap_or(GROWTH);
    plans.iter().map(of).fold(Size::default(), |sum, it| sum + it)
}

/// A step that is about to begin.
#[derive(Debug)]
pub(super) struct Begin<'a> {
    pub(super) site: &'a Site,
    pub(super) topology: &'a Topology,
    pub(super) step: Step,
    pub(super) binaries: &'a [&'a Binary],
    pub(super) platforms: &'a [Platform],
    pub(super) effort: &'a Effort,
    pub(super) registry: Option<(String, Reached)>,
}

impl Begin<'_> {
    /// Looks whether the machine has room for the step, and chooses how it is done.
    ///
    /// # Errors
    /// When a platform cannot be built, or there is no room and the step is not forced.
    pub(super) fn check(&self) -> anyhow::Result<Prepared> {
        let compilers = compilers(&self.effort.rustc)?;
        let found = toolchains(self.platforms, &compilers);
        let missing: Vec<Missing> = found.iter().filter_map(|it| it.clone().err()).collect();
        if !missing.is_empty() {
            return Err(CannotBuild(missing).into());
        }
        let machine = Machine::look(&self.site.target, &self.site.cargo_home)?;
        let ledger = Ledger::read(&self.site.target)?;
        let usable = || found.iter().filter_map(|it| it.as_ref().ok());
        let effort = (self.effort.lto, self.effort.jobs);
        let plans: Vec<Plan> = self
            .binaries
            .iter()
            .flat_map(|it| plans(self.site, it, usable(), effort, &machine, &ledger))
            .collect();
        for plan in plans.iter().filter_map(|it| it.lowered.as_ref()) {
            note(&format!("doctor: {plan}"));
        }
        let needs = Needs {
            step: Some(self.step),
            plans: &plans,
            growth: growth(&plans, &ledger),
            topology: self.topology,
            toolchains: &found,
            registry: self.registry.as_ref(),
            cluster: None,
        };
        judge(&Report::new(checks(&machine, &needs), Vec::new()), self.effort.force)?;
        let all = self.binaries.iter().flat_map(|_| usable().cloned());
        Ok(Prepared { builds: all.zip(plans).collect() })
    }
}

/// Whether a step may begin after what the doctor found; says so.
///
/// # Errors
/// [`NoRoom`] when a check fails and the step is not forced.
pub(super) fn judge(report: &Report, force: bool) -> anyhow::Result<()> {
    if report.passes {
        // A control group is mentioned where it leaves less than the machine has.
        let tightest = ["memory of the control group", "memory available"].into_iter();
        let margin = tightest.filter_map(|it| report.lines.iter().find(|line| line.name == it));
        let margin = margin.map(|it| it.margin.as_str()).next().unwrap_or_default();
        let count = report.lines.len();
        note(&format!("doctor: {count} checks pass, {margin} of memory to spare"));
        return Ok(());
    }
    note(report.table(true).trim_end());
    let failed = report.failed().join(", ");
    if force {
        note(&format!("doctor: going on although these fail, as --force says: {failed}"));
        return Ok(());
    }
    Err(NoRoom(format!(
        "not begun, since the doctor's checks fail: {failed}; mend them as shown above, or go on \
         all the same with --force"
    ))
    .into())
}

#[cfg(test)]
mod tests {
    use xtask_images::doctor::{Line, Verdict};

    use super::*;
    use crate::commands::exit_code;

    fn report(verdict: Verdict) -> Report {
        let line = Line {
            name: "ceiling of all guests".to_owned(),
            verdict,
            found: "1024 MB".to_owned(),
            needed: "7680 MB given".to_owned(),
            margin: "-6656 MB".to_owned(),
            mend: None,
        };
        Report::new(vec![line], Vec::new())
    }

    #[test]
    fn a_failed_margin_stops_a_step_with_code_1_unless_it_is_forced() {
        let error = judge(&report(Verdict::Fails), false).unwrap_err();
        assert_eq!(exit_code(&error), 1);
        let said = error.to_string();
        assert!(said.contains("ceiling of all guests") && said.contains("--force"), "{said}");
        judge(&report(Verdict::Fails), true).unwrap();
    }

    #[test]
    fn what_is_only_to_know_stops_nothing() {
        judge(&report(Verdict::Note), false).unwrap();
        judge(&report(Verdict::Ok), false).unwrap();
    }
}
