//! What stage 1 saw, for people, for programs, and to be kept.

use std::{
    collections::BTreeMap,
    fmt::{self, Write as _},
    fs,
    path::{Path, PathBuf},
};

use anyhow::Context as _;
use comfy_table::{CellAlignment, Table, presets};
use serde::Serialize;

use super::{cluster::Scheduled, profile::Profile, source::Served};

/// Where the pods of one scheduler went.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Placement {
    /// The scheduler.
    pub(crate) scheduler: String,
    /// Pods by node, as the API server had them.
    pub(crate) counts: BTreeMap<String, usize>,
    /// The `Scheduled` events of the pods.
    pub(crate) events: Vec<Scheduled>,
}

impl Placement {
    /// The pods of the fullest node.
    fn most(&self) -> usize {
        self.counts.values().copied().max().unwrap_or_default()
    }

    fn total(&self) -> usize {
        self.counts.values().sum()
    }
}

/// What was seen.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Report {
    /// Of this form; 1.
    version: u32,
    cluster: String,
    profile: PathBuf,
    plugins: String,
    nodes: Vec<String>,
    placements: [Placement; 2],
    extension_points: Vec<Served>,
    /// Whether the second placement is more concentrated than the first.
    pub(crate) changed: bool,
    #[serde(skip)]
    profile_text: String,
}

impl Report {
    pub(crate) fn new(
        profile: &Profile,
        cluster: String,
        nodes: Vec<String>,
        placements: [Placement; 2],
        extension_points: Vec<Served>,
    ) -> Self {
        let [default, second] = &placements;
        Self {
            version: 1,
            changed: second.most() > default.most(),
            cluster,
            profile: profile.file.clone(),
            plugins: profile.plugin_names(),
            nodes,
            placements,
            extension_points,
            profile_text: profile.text.clone(),
        }
    }

    pub(crate) fn json(&self) -> anyhow::Result<String> {
        serde_json::to_string_pretty(self).context("cannot write the report")
    }

    /// Keeps the report in target/stages, where `cargo xtask write-down` finds it.
    pub(crate) fn keep(&self, target: &Path, stage: &str) -> anyhow::Result<()> {
        keep(target, stage, &self.json()?)
    }

    /// One sentence on what came out.
    fn finding(&self) -> String {
        let [default, second] = &self.placements;
        format!(
            "With {}, {} of {} pods share a node; by default no node has more than {}.",
            self.plugins,
            second.most(),
            second.total(),
            default.most()
        )
    }

    /// What to look at when nothing changed.
    pub(crate) fn explanation(&self) -> String {
        let [default, second] = &self.placements;
        format!(
            "error: placement did not change: check normalisation first.\nThe fullest node has {} \
             pods by default and {} with {}. A plugin whose raw scores are not mapped onto 0..=100 \
             is outweighed by the others in silence; so is one with a small weight. See that the \
             profile {} enables it, then what its `normalize` answers.",
            default.most(),
            second.most(),
            self.plugins,
            self.profile.display()
        )
    }

    fn rows(&self) -> impl Iterator<Item = [String; 3]> + '_ {
        let [default, second] = &self.placements;
        let mut names: Vec<&String> = default.counts.keys().chain(second.counts.keys()).collect();
        names.sort();
        names.dedup();
        // Of a large cluster only the nodes that play a part.
        let many = names.len() > 20;
        let count = |of: &Placement, name| of.counts.get(name).copied().unwrap_or_default();
        names.into_iter().filter_map(move |name| {
            let counts = [count(default, name), count(second, name)];
            let shown = !many || counts != [0, 0];
            shown.then(|| [name.clone(), counts[0].to_string(), counts[1].to_string()])
        })
    }

    fn heads(&self) -> [&str; 3] {
        let [default, second] = &self.placements;
        ["NODE", &default.scheduler, &second.scheduler]
    }

    /// The write-down.
    pub(crate) fn markdown(&self) -> String {
        let mut text = format!("# Stage 1: {} and where pods go\n\n", self.plugins);
        let [_, pods] = &self.placements;
        let (total, cluster) = (pods.total(), &self.cluster);
        let mut put = |line: &str| {
            text.push_str(line);
            text.push('\n');
        };
        put(&format!(
            "A deployment of {total} pods, first by one scheduler, then by the other, on: {cluster}.\n"
        ));
        put("## Pods per node\n");
        put(&format!("| {} |", self.heads().join(" | ")));
        put("|---|---:|---:|");
        self.rows().for_each(|row| put(&format!("| {} |", row.join(" | "))));
        put(&format!("\n{}\n", self.finding()));
        put("## Extension point\n");
        for it in &self.extension_points {
            let (point, plugin) = (&it.point, &it.plugin);
            let (declared, implemented) = (&it.declared_at, &it.implemented_at);
            put(&format!(
                "- `{point}` is declared at `{declared}`; `{plugin}` implements it at `{implemented}`."
            ));
        }
        put("\n## Profile\n\n```yaml");
        put(self.profile_text.trim_end());
        put("```\n\n## Scheduled events\n\n```text");
        for event in self.placements.iter().flat_map(|it| &it.events) {
            put(&format!("{}: {}", event.scheduler, event.message));
        }
        put("```");
        text
    }
}

/// Keeps what a stage saw, in the folder `stages` of cargo's target folder.
pub(crate) fn keep(target: &Path, stage: &str, json: &str) -> anyhow::Result<()> {
    let folder = target.join("stages");
    let file = folder.join(format!("{stage}.json"));
    fs::create_dir_all(&folder)
        .and_then(|()| fs::write(&file, json))
        .with_context(|| format!("cannot write {}", file.display()))
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut table = Table::new();
        table.load_style(presets::NOTHING).set_header(self.heads());
        for row in self.rows() {
            table.add_row(row);
        }
        for column in table.column_iter_mut().skip(1) {
            column.set_cell_alignment(CellAlignment::Right);
        }
        writeln!(
            f,
            "\nPods per node, as the API server has them ({}):\n\n{table}\n",
            self.cluster
        )?;
        writeln!(f, "{}\n\nScheduled events:", self.finding())?;
        for event in self.placements.iter().flat_map(|it| &it.events) {
            writeln!(f, "  {}: {}", event.scheduler, event.message)?;
        }
        if !self.extension_points.is_empty() {
            f.write_char('\n')?;
        }
        for it in &self.extension_points {
            writeln!(f, "Extension point {}: declared at {}", it.point, it.declared_at)?;
            writeln!(f, "  {} implements it at {}", it.plugin, it.implemented_at)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stage1::source::Place;

    fn placement(scheduler: &str, counts: &[(&str, usize)]) -> Placement {
        let message = "Successfully assigned sched-lab/spread-1 to n1".to_owned();
        let (scheduler, pod) = (scheduler.to_owned(), "spread-1".to_owned());
        Placement {
            counts: counts.iter().map(|(node, pods)| ((*node).to_owned(), *pods)).collect(),
            events: vec![Scheduled { scheduler: scheduler.clone(), pod, message }],
            scheduler,
        }
    }

    fn report(second: &[(&str, usize)]) -> Report {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let profile = Profile::read(&root.join("profiles/concentrate.yaml")).unwrap();
        let place = |file: &str, line| Place { file: file.into(), line };
        let served = Served {
            plugin: "Concentrate".to_owned(),
            point: "Score".to_owned(),
            declared_at: place("points.rs", 3),
            implemented_at: place("concentrate.rs", 5),
        };
        let default = placement("default-scheduler", &[("n1", 3), ("n2", 3)]);
        let placements = [default, placement("concentrate-scheduler", second)];
        Report::new(
            &profile,
            "lab".into(),
            vec!["n1".into(), "n2".into()],
            placements,
            vec![served],
        )
    }

    #[test]
    fn more_pods_on_one_node_is_a_change_and_the_same_is_none() {
        assert!(report(&[("n1", 0), ("n2", 6)]).changed);
        assert!(report(&[("n1", 4), ("n2", 2)]).changed);
        let same = report(&[("n1", 3), ("n2", 3)]);
        assert!(!same.changed);
        let explanation = same.explanation();
        assert!(explanation.contains("placement did not change: check normalisation first"));
    }

    #[test]
    fn people_see_counts_events_and_lines() {
        let text = report(&[("n1", 0), ("n2", 6)]).to_string();
        let rows: Vec<Vec<&str>> = text.lines().map(|it| it.split_whitespace().collect()).collect();
        assert!(rows.contains(&vec!["n1", "3", "0"]), "{text}");
        assert!(rows.contains(&vec!["n2", "3", "6"]), "{text}");
        assert!(text.contains("6 of 6 pods share a node; by default no node has more than 3"));
        assert!(text.contains("default-scheduler: Successfully assigned"));
        assert!(text.contains("declared at points.rs:3"));
    }

    #[test]
    fn the_write_down_is_a_page_of_its_own() {
        let text = report(&[("n1", 6), ("n2", 0)]).markdown();
        assert!(text.starts_with("# Stage 1: Concentrate"));
        assert!(text.contains("| n1 | 3 | 6 |"), "{text}");
        assert!(text.contains("`Score` is declared at `points.rs:3`"));
        assert!(text.contains("schedulerName: concentrate-scheduler"));
    }

    #[test]
    fn programs_get_a_version() {
        let json = report(&[("n1", 6), ("n2", 0)]).json().unwrap();
        let value: serde_json::Value = serde_json::from_str(&json).unwrap();
        assert_eq!(value["version"], 1);
        assert_eq!(value["placements"][1]["counts"]["n1"], 6);
        assert_eq!(value["changed"], true);
    }
}
