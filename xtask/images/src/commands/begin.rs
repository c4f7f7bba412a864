//! What `cargo xtask` asks before it has cargo build for a heavy step of another program: whether there is
//! room, and how to build then.

use std::{
    path::{Path, PathBuf},
    process::ExitCode,
};

use anstream::println;
use clap::{Args, ValueEnum};
use serde_json::json;
use xtask_images::{
    build::wanted,
    doctor::{self, Machine, Needs, Report, Step, checks},
    measure::{Ledger, What},
    plan::{self, Lto},
    site::Site,
    size::Size,
    topology::Topology,
    transport::Endpoint,
};

use super::prepare;
use crate::progress::note;

/// What a step writes that was built before: lab clusters, what containers are unpacked into.
const FILES: Size = Size::mebi(100);

/// Look whether a heavy step may begin, and say on the standard output how to build for it.
#[derive(Clone, Debug, Args)]
pub(crate) struct Options {
    /// The step.
    #[arg(long, value_enum)]
    step: HeavyStep,
    /// The program that cargo will build, and that the step runs.
    #[arg(long)]
    program: String,
    /// Cargo's profile.
    #[arg(long)]
    profile: String,
    /// The registry that the step pulls from.
    #[arg(long)]
    registry: Option<String>,
    /// Whether the step takes place in the cluster that kubectl would talk to.
    #[arg(long)]
    cluster: bool,
    /// Begin though a check fails.
    #[arg(long)]
    force: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum HeavyStep {
    Stage2,
    Soak,
}

/// Judges as `build` and `build-image` do before they begin.
pub(crate) async fn run(options: &Options, root: &Path) -> anyhow::Result<ExitCode> {
    let site = Site::find(root)?;
    let topology = Topology::read(root)?;
    let machine = Machine::look(&site.target, &site.cargo_home)?;
    let ledger = Ledger::read(&site.target)?;
    let lto = wanted(root, &options.profile).unwrap_or(Lto::Off);
    let what = What {
        package: options.program.clone(),
        binary: options.program.clone(),
        target: "host".to_owned(),
        profile: options.profile.clone(),
        lto,
        jobs: machine.cores,
    };
    let plans = [plan::choose(&what, machine.room(), &ledger)];
    if let Some(lowered) = &plans[0].lowered {
        note(&format!("doctor: {lowered}"));
    }
    let is_built = program(&site.target, &options.profile, &options.program).is_file();
    let mut registry = None;
    if let Some(name) = &options.registry {
        let endpoint = Endpoint::new(name, &topology.registries, &[]);
        registry = Some((name.clone(), doctor::registry(&endpoint).await));
    }
    let cluster = if options.cluster { Some(doctor::cluster().await) } else { None };
    let needs = Needs {
        step: Some(match options.step {
            HeavyStep::Stage2 => Step::Stage2,
            HeavyStep::Soak => Step::Soak,
        }),
        plans: &plans,
        growth: if is_built { FILES } else { prepare::growth(&plans, &ledger) },
        topology: &topology,
        toolchains: &[],
        registry: registry.as_ref(),
        cluster: cluster.as_ref(),
    };
    prepare::judge(&Report::new(checks(&machine, &needs), Vec::new()), options.force)?;
    let chosen = &plans[0].what;
    let lto = (chosen.lto != lto).then(|| chosen.lto.to_string());
    println!("{}", json!({"jobs": chosen.jobs, "lto": lto}));
    Ok(ExitCode::SUCCESS)
}

/// Where cargo puts the program of that profile.
fn program(target: &Path, profile: &str, name: &str) -> PathBuf {
    let folder = if profile == "dev" { "debug" } else { profile };
    target.join(folder).join(name)
}
