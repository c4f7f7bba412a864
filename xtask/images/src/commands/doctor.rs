//! `cargo xtask doctor`.

use std::{path::Path, process::ExitCode};

use anstream::println;
use xtask_images::{
    doctor::{self, Machine, Needs, Report, Step, checks},
    measure::Ledger,
    recipe::Recipe,
    site::Site,
    topology::Topology,
    transport::Endpoint,
};

use super::prepare;
use crate::options::doctor::{Options, Output, Step as StepOption};

/// Looks at everything, or at what one step needs.
pub(crate) async fn run(options: &Options, root: &Path) -> anyhow::Result<ExitCode> {
    let site = Site::find(root)?;
    let topology = Topology::read(root)?;
    let binary = Recipe::read(root, &options.image)?.binary;
    site.package(&binary.package, &binary.name)?;
    let step = options.step.map(|it| match it {
        StepOption::Build => Step::Build,
        StepOption::Image => Step::Image,
        StepOption::Push => Step::Push,
        StepOption::Stage2 => Step::Stage2,
    });
    let platforms = match step {
        Some(Step::Build) => vec![prepare::native()],
        Some(Step::Stage2) => Vec::new(),
        _ => prepare::platforms(&["linux/amd64".to_owned(), "linux/arm64".to_owned()])?,
    };
    let toolchains = prepare::toolchains(&platforms, &prepare::compilers(&options.rustc)?);
    let machine = Machine::look(&site.target, &site.cargo_home)?;
    let ledger = Ledger::read(&site.target)?;
    let usable = toolchains.iter().filter_map(|it| it.as_ref().ok());
    let plans = prepare::plans(&site, &binary, usable, (None, None), &machine, &ledger);
    let wants = |steps: &[Step]| step.is_none_or(|it| steps.contains(&it));
    let mut registry = None;
    if wants(&[Step::Push, Step::Stage2]) {
        let endpoint = Endpoint::new(&options.registry, &topology.registries, &[]);
        registry = Some((options.registry.clone(), doctor::registry(&endpoint).await));
    }
    let cluster = if wants(&[Step::Stage2]) { Some(doctor::cluster().await) } else { None };
    let needs = Needs {
        step,
        plans: &plans,
        growth: prepare::growth(&plans, &ledger),
        topology: &topology,
        toolchains: &toolchains,
        registry: registry.as_ref(),
        cluster: cluster.as_ref(),
    };
    let lowered = plans.iter().filter_map(|it| it.lowered.clone()).collect();
    let report = Report::new(checks(&machine, &needs), lowered);
    match options.output {
        Output::Json => println!("{}", serde_json::to_string_pretty(&report)?),
        Output::Table => {
            println!("{}", report.table(false).trim_end());
            for plan in &report.plans {
                println!("{plan}");
            }
        }
    }
    Ok(ExitCode::from(u8::from(!report.passes)))
}
