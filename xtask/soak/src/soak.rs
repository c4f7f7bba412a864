//! Many pods come and go.

use std::{
    path::Path,
    process::ExitCode,
    time::{Duration, Instant},
};

use anstream::println;
use indicatif::{ProgressBar, ProgressStyle};
use serde_json::json;

use crate::{
    cluster::Cluster,
    memory::Memory,
    options::{Options, Output},
};

/// How many pods are created together.
const BATCH: u32 = 500;
/// How long the scheduler gets to take in the last deletions before its memory is read.
const REST: Duration = Duration::from_secs(3);

/// Runs it; whether memory stayed.
pub(crate) async fn run(options: &Options, scheduler: &Path) -> anyhow::Result<ExitCode> {
    // What is measured early has as many pods at once as what is measured late.
    let options = &Options { living: options.living.min(options.pods / 20), ..options.clone() };
    let mut cluster = Cluster::start(options.nodes, scheduler).await?;
    let progress = ProgressBar::new(options.pods.into()).with_style(style());
    let begun = Instant::now();
    let early = stretch(&mut cluster, options, options.pods / 10, &progress).await?;
    let late = stretch(&mut cluster, options, options.pods, &progress).await?;
    let seconds = begun.elapsed().as_secs_f64();
    progress.finish_and_clear();
    cluster.end().await?;
    let growth = (late.resident as f64 / early.resident as f64 - 1.0) * 100.0;
    let stayed = growth <= options.growth;
    let Options { pods, nodes, living, .. } = options;
    match options.output {
        Output::Json => {
            let finding = json!({
                "version": 1, "ok": stayed, "pods": pods, "nodes": nodes, "living": living,
                "seconds": seconds, "earlyKiB": early.resident, "lateKiB": late.resident,
                "peakKiB": late.peak, "growthPercent": growth,
            });
            println!("{finding:#}");
        }
        Output::Text => {
            println!("{pods} pods over {nodes} nodes, at most {living} at once, in {seconds:.0} s");
            println!("resident after a tenth: {:>7} KiB", early.resident);
            println!("resident at the end:    {:>7} KiB ({growth:+.1} %)", late.resident);
            println!("most at a time:         {:>7} KiB", late.peak);
            let verdict = if stayed { "memory stays" } else { "memory grows" };
            println!("{verdict}: {} % are allowed", options.growth);
        }
    }
    Ok(if stayed { ExitCode::SUCCESS } else { ExitCode::from(1) })
}

/// Pods come and go until `until` have been created and all are gone; the memory then.
async fn stretch(
    cluster: &mut Cluster,
    options: &Options,
    until: u32,
    progress: &ProgressBar,
) -> anyhow::Result<Memory> {
    let batch_max = BATCH.min(options.living.max(1));
    while cluster.created() < until.into() {
        let left = u64::from(until) - cluster.created();
        let batch = u32::try_from(left).unwrap_or(batch_max).min(batch_max);
        cluster.add(batch).await?;
        cluster.shrink(options.living.saturating_sub(batch_max))?;
        progress.set_position(cluster.created());
    }
    cluster.shrink(0)?;
    tokio::time::sleep(REST).await;
    Memory::of(cluster.pid())
}

fn style() -> ProgressStyle {
    let style = ProgressStyle::with_template("{bar:40} {pos}/{len} pods, {per_sec}, {eta} left");
    style.unwrap_or_else(|_| ProgressStyle::default_bar())
}
