//! What is compared with what.

use xtask_heavy::memory::Memory;

use super::{Line, Machine, Reached, Verdict};
use crate::{
    cross::{Missing, Toolchain},
    plan::Plan,
    size::Size,
    topology::Topology,
};

#[cfg(test)]
mod tests;

/// A heavy step, and so what must be there for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// A release build for this machine.
    Build,
    /// An image: a release build for each platform.
    Image,
    /// An image, and a registry to push it to.
    Push,
    /// A registry to pull it from, and a cluster to run it in.
    Stage2,
    /// A scheduler that many pods go through.
    Soak,
}

/// What a step needs, gathered.
#[derive(Clone, Debug)]
pub struct Needs<'a> {
    /// Which step; none is a look at everything.
    pub step: Option<Step>,
    /// The builds, one after the other.
    pub plans: &'a [Plan],
    /// By how much they let the target folder grow.
    pub growth: Size,
    /// The course's machines.
    pub topology: &'a Topology,
    /// What builds for each platform.
    pub toolchains: &'a [Result<Toolchain, Missing>],
    /// The registry, by its name, where it was reached for.
    pub registry: Option<&'a (String, Reached)>,
    /// The cluster, where it was reached for.
    pub cluster: Option<&'a Reached>,
}

/// Compares what `machine` has with what is needed.
pub fn checks(machine: &Machine, needs: &Needs<'_>) -> Vec<Line> {
    let mut lines = memory(machine, needs);
    lines.extend(budgets(machine, needs));
    lines.push(disk(machine, needs));
    lines.push(folders(machine));
    lines.push(heavy_step(machine));
    lines.extend(compilers(machine));
    lines.extend(needs.toolchains.iter().map(toolchain));
    lines.extend(needs.registry.map(|(name, reached)| {
        let mend = "`cargo xtask forge up`, or another one by `--registry HOST:PORT`";
        let is_needed = needs.step == Some(Step::Push) || needs.step == Some(Step::Stage2);
        reach("registry", &format!("{name} at {}", reached.address), reached, is_needed, mend)
    }));
    lines.extend(needs.cluster.map(|reached| {
        let mend = "`cargo xtask lab up`, or name a kubeconfig in KUBECONFIG";
        let is_needed = needs.step == Some(Step::Stage2);
        reach("cluster", &reached.address, reached, is_needed, mend)
    }));
    lines
}

/// `found` against `needed`, both sizes.
fn sizes(name: &str, found: Size, needed: Size, needed_for: &str, mend: String) -> Line {
    let passes = found >= needed;
    let margin = if passes { (found - needed).to_string() } else { format!("-{}", needed - found) };
    Line {
        name: name.to_owned(),
        verdict: if passes { Verdict::Ok } else { Verdict::Fails },
        found: found.to_string(),
        needed: format!("{needed} {needed_for}"),
        margin,
        mend: (!passes).then_some(mend),
    }
}

/// The build that takes most.
fn heaviest<'a>(needs: &Needs<'a>) -> Option<&'a Plan> {
    needs.plans.iter().max_by_key(|it| it.memory)
}

fn memory(machine: &Machine, needs: &Needs<'_>) -> Vec<Line> {
    let plan = heaviest(needs);
    let need = plan.map_or_else(Size::default, |it| it.memory);
    let why = plan.map_or_else(String::new, |it| {
        let basis = if it.measured { "measured" } else { "not measured here yet" };
        format!("({basis}, lto = {}, jobs = {})", it.what.lto, it.what.jobs)
    });
    let stop = machine.largest.as_ref().map_or_else(
        || "stop programs that you can do without".to_owned(),
        |it| {
            format!(
                "stop a program that you can do without; the largest is `{}`, process {}, with {}",
                it.name, it.pid, it.memory
            )
        },
    );
    let Memory { total, available, group } = machine.memory;
    let larger = format!("give the machine more than {total}");
    let mut lines = vec![
        sizes("memory in all", total, need, &why, larger),
        sizes("memory available", available, need, &why, stop),
    ];
    if let Some((limit, free)) = group {
        let mend = format!(
            "run it outside of the control group, or raise its limit of {limit}: `systemctl set-property \
             UNIT MemoryMax=…`"
        );
        lines.push(sizes("memory of the control group", free, need, &why, mend));
    }
    lines
}

/// What the course's machines would have left. On a larger machine than the guest that is to know, and
/// stops nothing.
fn budgets(machine: &Machine, needs: &Needs<'_>) -> Vec<Line> {
    let topology = needs.topology;
    let need = heaviest(needs).map_or_else(Size::default, |it| it.memory);
    let mend = "build with less: `cargo xtask build --lto thin --jobs 1`".to_owned();
    let name = format!("budget of the guest {}", topology.builder);
    let mut guest = sizes(&name, topology.build_budget(), need, "for the build", mend);
    let given_to_it = topology.guests.get(&topology.builder).map(|it| it.memory);
    if guest.verdict == Verdict::Fails && given_to_it.is_some_and(|it| machine.memory.total > it) {
        guest.verdict = Verdict::Note;
    }
    let mend = format!("give a guest less in {}", crate::topology::FILE);
    let given = topology.given();
    let ceiling = sizes("ceiling of all guests", topology.ceiling, given, "given", mend);
    vec![guest, ceiling]
}

fn disk(machine: &Machine, needs: &Needs<'_>) -> Line {
    let mend = format!(
        "`cargo clean` frees {} in {}; {} are cargo's downloads",
        machine.target.size,
        machine.target.path.display(),
        machine.registry.size
    );
    sizes("disk", machine.disk_free, needs.growth, "for the build", mend)
}

fn folders(machine: &Machine) -> Line {
    Line {
        name: "folders".to_owned(),
        verdict: Verdict::Ok,
        found: format!(
            "target {}, cargo's downloads {}, images {}",
            machine.target.size, machine.registry.size, machine.images.size
        ),
        needed: String::new(),
        margin: String::new(),
        mend: None,
    }
}

fn heavy_step(machine: &Machine) -> Line {
    let holder = machine.holder.as_ref();
    Line {
        name: "other heavy steps".to_owned(),
        verdict: if holder.is_some() { Verdict::Fails } else { Verdict::Ok },
        found: holder.map_or_else(|| "none".to_owned(), ToString::to_string),
        needed: "none".to_owned(),
        margin: String::new(),
        mend: holder.map(|it| format!("wait for it, or `kill {}`", it.pid)),
    }
}

/// Compilers of others only take time: what memory they have is not counted as available.
fn compilers(machine: &Machine) -> Option<Line> {
    let largest = machine.others.first()?;
    let memory = machine.others.iter().map(|it| it.memory);
    let memory = memory.fold(Size::default(), |sum, it| sum + it);
    let count = machine.others.len();
    Some(Line {
        name: "other compilers".to_owned(),
        verdict: Verdict::Note,
        found: format!("{count} with {memory}; `{}` is process {}", largest.name, largest.pid),
        needed: "none".to_owned(),
        margin: String::new(),
        mend: Some(
            "wait until they are done: measured times will be longer than they need be".into(),
        ),
    })
}

fn toolchain(found: &Result<Toolchain, Missing>) -> Line {
    match found {
        Ok(it) => Line {
            name: format!("toolchain for {}", it.platform),
            verdict: if it.notes.is_empty() { Verdict::Ok } else { Verdict::Note },
            found: format!("{}, linked by {}", it.target, it.cc),
            needed: "a target and a C compiler".to_owned(),
            margin: String::new(),
            mend: (!it.notes.is_empty()).then(|| it.notes.join("; ")),
        },
        Err(missing) => Line {
            name: format!("toolchain for {}", missing.platform),
            verdict: Verdict::Fails,
            found: missing.faults.iter().map(|it| it.what.clone()).collect::<Vec<_>>().join("; "),
            needed: "a target and a C compiler".to_owned(),
            margin: String::new(),
            mend: Some(
                missing
                    .faults
                    .iter()
                    .map(|it| format!("`{}`", it.mend))
                    .collect::<Vec<_>>()
                    .join(" and "),
            ),
        },
    }
}

fn reach(name: &str, what: &str, reached: &Reached, is_needed: bool, mend: &str) -> Line {
    let fault = reached.fault.as_ref();
    let verdict = match (fault, is_needed) {
        (None, _) => Verdict::Ok,
        (Some(_), false) => Verdict::Note,
        (Some(_), true) => Verdict::Fails,
    };
    Line {
        name: name.to_owned(),
        verdict,
        found: fault.map_or_else(|| format!("{what} answers"), |it| format!("{what}: {it}")),
        needed: if is_needed { "an answer" } else { "for later steps" }.to_owned(),
        margin: String::new(),
        mend: fault.map(|_| mend.to_owned()),
    }
}
