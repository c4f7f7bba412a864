//! `cargo xtask write-down`.

use std::{fs, io, path::Path, process::ExitCode};

use anstream::print;
use anyhow::Context as _;
use serde_json::Value;
use xtask_images::{
    measure::{Ledger, Measurement},
    site::Site,
    size::Size,
    topology::Topology,
};

use crate::{options::write_down::Options, progress::note};

/// Where stages keep what they saw, below the target folder.
const STAGES: &str = "stages";

/// Collects what the stages saw.
pub(crate) fn run(options: &Options, root: &Path) -> anyhow::Result<ExitCode> {
    let site = Site::find(root)?;
    let (ledger, topology) = (Ledger::read(&site.target)?, Topology::read(root)?);
    let seen = Seen {
        first: stage(&site.target, "stage1")?,
        second: stage(&site.target, "stage2")?,
        builds: latest(ledger.all()),
        budget: topology.build_budget(),
    };
    let (text, missing) = (seen.markdown(), seen.missing());
    match &options.file {
        Some(file) => {
            fs::write(file, text).with_context(|| format!("cannot write {}", file.display()))?;
            note(&format!("Written down in {}.", file.display()));
        }
        None => print!("{text}"),
    }
    for what in &missing {
        note(&format!("missing: {what}"));
    }
    Ok(ExitCode::from(u8::from(!missing.is_empty())))
}

/// What a stage saw, if it was run.
fn stage(target: &Path, name: &str) -> anyhow::Result<Option<Value>> {
    let file = target.join(STAGES).join(format!("{name}.json"));
    let bytes = match fs::read(&file) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error).with_context(|| format!("cannot read {}", file.display())),
    };
    let hint = || format!("cannot read {}; run `cargo xtask {name}` again", file.display());
    serde_json::from_slice(&bytes).map(Some).with_context(hint)
}

/// The latest build of each binary for each platform.
fn latest(all: &[Measurement]) -> Vec<Measurement> {
    let mut latest: Vec<Measurement> = Vec::new();
    for it in all {
        latest.retain(|old| {
            (&old.what.binary, &old.what.target) != (&it.what.binary, &it.what.target)
        });
        latest.push(it.clone());
    }
    latest
}

/// What there is to write down.
struct Seen {
    first: Option<Value>,
    second: Option<Value>,
    builds: Vec<Measurement>,
    budget: Size,
}

impl Seen {
    /// What was not done yet, with the command that does it.
    fn missing(&self) -> Vec<&'static str> {
        let mut missing = Vec::new();
        if self.first.is_none() {
            missing.push("where pods go from outside the cluster: `cargo xtask stage1`");
        }
        if self.second.is_none() {
            missing.push("the image as a second scheduler: `cargo xtask stage2`");
        }
        if self.builds.is_empty() {
            missing.push("what a build takes: `cargo xtask build-image concentrate-scheduler`");
        }
        missing
    }

    fn markdown(&self) -> String {
        let mut lines = vec!["# Write-down".to_owned()];
        // Both stages know the extension points; the later one is of today's source.
        if let Some(stage) = self.second.as_ref().or(self.first.as_ref()) {
            lines.push("\n## Extension point\n".to_owned());
            lines.extend(items(stage, "/extensionPoints").iter().map(extension_point));
        }
        if let Some(stage) = &self.second {
            lines.extend(image(stage));
        }
        let stages =
            [("Stage 1, from outside", &self.first), ("Stage 2, from the image", &self.second)];
        for (title, stage) in stages {
            if let Some(stage) = stage {
                lines.push(format!("\n## Pods per node: {title}\n"));
                lines.extend(placements(stage));
            }
        }
        if !self.builds.is_empty() {
            lines.push("\n## Build\n".to_owned());
            lines.push("| BINARY | TARGET | PEAK MEMORY | MARGIN | SIZE | TIME |".to_owned());
            lines.push("|---|---|---:|---:|---:|---:|".to_owned());
            lines.extend(self.builds.iter().map(|it| build(it, self.budget)));
            lines.push(format!(
                "\nThe margin is what is left of the {} that a build may use.",
                self.budget
            ));
        }
        lines.join("\n") + "\n"
    }
}

fn items<'a>(value: &'a Value, pointer: &str) -> &'a [Value] {
    value.pointer(pointer).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}

fn text<'a>(value: &'a Value, pointer: &str) -> &'a str {
    value.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

fn extension_point(it: &Value) -> String {
    let place = |of: &str| {
        let line = it.pointer(&format!("/{of}/line")).and_then(Value::as_u64).unwrap_or_default();
        format!("{}:{line}", text(it, &format!("/{of}/file")))
    };
    format!(
        "- `{}` is declared at `{}`; `{}` implements it at `{}`.",
        text(it, "/point"),
        place("declaredAt"),
        text(it, "/plugin"),
        place("implementedAt")
    )
}

fn image(stage: &Value) -> Vec<String> {
    let mut lines = vec![
        "\n## Image\n".to_owned(),
        format!("- `{}` at {}", text(stage, "/image/reference"), text(stage, "/image/registry")),
        format!("- index `{}`", text(stage, "/image/digest")),
    ];
    let parts = items(stage, "/image/parts").iter().filter(|it| it["what"] != "index");
    lines.extend(parts.map(|it| {
        format!("- {} {} `{}`", text(it, "/of"), text(it, "/what"), text(it, "/digest"))
    }));
    lines.push(format!(
        "- run as `{}` on {}; {}, and {} s later `{}` led",
        text(stage, "/leader/pod"),
        text(stage, "/leader/node"),
        text(stage, "/restart/how"),
        stage.pointer("/restart/seconds").and_then(Value::as_u64).unwrap_or_default(),
        text(stage, "/restart/after/pod")
    ));
    lines
}

fn placements(stage: &Value) -> Vec<String> {
    let placements = items(stage, "/placements");
    let heads: Vec<&str> = placements.iter().map(|it| text(it, "/scheduler")).collect();
    let mut lines = vec![
        format!("| NODE | {} |", heads.join(" | ")),
        format!("|---|{}", "---:|".repeat(heads.len())),
    ];
    for node in items(stage, "/nodes").iter().filter_map(Value::as_str) {
        let counts =
            placements.iter().map(|it| it["counts"][node].as_u64().unwrap_or(0).to_string());
        lines.push(format!("| {node} | {} |", counts.collect::<Vec<_>>().join(" | ")));
    }
    lines
}

fn build(it: &Measurement, budget: Size) -> String {
    let peak = it.peak_memory_bytes;
    let margin =
        if peak > budget { format!("-{}", peak - budget) } else { (budget - peak).to_string() };
    format!(
        "| {} | {} | {peak} | {margin} | {} | {:.0} s |",
        it.what.binary, it.what.target, it.binary_bytes, it.wall_seconds
    )
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn seen() -> Seen {
        let place = |file: &str, line| json!({"file": file, "line": line});
        let stage = json!({
            "nodes": ["n1", "n2"],
            "placements": [{"scheduler": "default-scheduler", "counts": {"n1": 3, "n2": 3}},
                {"scheduler": "mine", "counts": {"n1": 6}}],
            "extensionPoints": [{"point": "Score", "plugin": "P",
                "declaredAt": place("points.rs", 3), "implementedAt": place("p.rs", 5)}],
            "image": {"reference": "r/x:v1", "registry": "http://r", "digest": "sha256:1", "parts": [
                {"what": "index", "of": "", "digest": "sha256:1"},
                {"what": "manifest", "of": "linux/amd64", "digest": "sha256:2"}]},
            "leader": {"pod": "p-1", "node": "n1"},
            "restart": {"how": "killed", "seconds": 17, "after": {"pod": "p-1"}}});
        Seen {
            first: Some(stage.clone()),
            second: Some(stage),
            builds: Vec::new(),
            budget: Size::mebi(2304),
        }
    }

    #[test]
    fn everything_that_was_seen_is_on_one_page() {
        let text = seen().markdown();
        for line in [
            "- `Score` is declared at `points.rs:3`; `P` implements it at `p.rs:5`.",
            "- `r/x:v1` at http://r",
            "- index `sha256:1`",
            "- linux/amd64 manifest `sha256:2`",
            "- run as `p-1` on n1; killed, and 17 s later `p-1` led",
            "| NODE | default-scheduler | mine |",
            "| n1 | 3 | 6 |",
            "| n2 | 3 | 0 |",
        ] {
            assert!(text.contains(line), "{line:?} is missing in:\n{text}");
        }
    }

    #[test]
    fn what_was_not_done_is_named_with_its_command() {
        let nothing = Seen { first: None, second: None, builds: Vec::new(), budget: Size::mebi(1) };
        let missing = nothing.missing().join("\n");
        for command in ["stage1", "stage2", "build-image"] {
            assert!(missing.contains(&format!("cargo xtask {command}")), "{missing}");
        }
        assert_eq!(nothing.markdown(), "# Write-down\n");
        assert_eq!(seen().missing().len(), 1);
    }
}
