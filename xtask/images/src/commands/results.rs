//! What builds took, shown.

use comfy_table::{ContentArrangement, Table, presets::NOTHING};
use serde_json::{Value, json};
use xtask_images::{build::Built, cross::Toolchain, plan::Plan, size::Size};

use crate::progress::note;

/// A binary for a platform.
#[derive(Debug)]
pub(super) struct Binary {
    pub(super) toolchain: Toolchain,
    pub(super) built: Built,
}

/// Says what is built now, and what differs from what is shipped.
pub(super) fn announce(toolchain: &Toolchain, plan: &Plan) {
    let (platform, what) = (&toolchain.platform, &plan.what);
    note(&format!(
        "{platform}: building {} for {}, lto = {}, jobs = {}",
        what.binary, what.target, what.lto, what.jobs
    ));
    for it in &toolchain.notes {
        note(&format!("{platform}: differs from what is shipped: {it}"));
    }
}

/// What it took, for people. The margin is what the guest that builds would have left.
pub(super) fn table(results: &[Binary], budget: Size) -> String {
    let mut table = Table::new();
    table.load_style(NOTHING).set_content_arrangement(ContentArrangement::Disabled);
    table.set_header(["PLATFORM", "BINARY", "TIME", "PEAK MEMORY", "MARGIN", "TARGET FOLDER", ""]);
    for Binary { toolchain, built } in results {
        let mut cells = vec![toolchain.platform.to_string()];
        match &built.measurement {
            Some(it) => {
                let peak = it.peak_memory_bytes;
                let margin = if peak > budget {
                    format!("-{}", peak - budget)
                } else {
                    (budget - peak).to_string()
                };
                cells.extend([
                    it.binary_bytes.to_string(),
                    format!("{:.0} s", it.wall_seconds),
                    peak.to_string(),
                    margin,
                    it.target_folder_bytes.to_string(),
                ]);
                cells.push(if built.was_fresh {
                    format!("as of {}", it.at)
                } else {
                    String::new()
                });
            }
            None => {
                cells.extend(["", "", "", "", "", "built before it was measured"].map(Into::into));
            }
        }
        table.add_row(cells);
    }
    let lines = table.to_string();
    lines.lines().map(str::trim_end).collect::<Vec<_>>().join("\n")
}

/// The same for programs.
pub(super) fn json(results: &[Binary]) -> Value {
    let one = |Binary { toolchain, built }: &Binary| {
        json!({
            "platform": toolchain.platform.to_string(),
            "target": toolchain.target,
            "path": built.path,
            "fresh": built.was_fresh,
            "measurement": built.measurement,
            "differs_from_shipped": toolchain.notes,
        })
    };
    results.iter().map(one).collect()
}
