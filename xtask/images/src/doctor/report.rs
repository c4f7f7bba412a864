//! The doctor's findings, a line each.

use comfy_table::{ContentArrangement, Table, presets::NOTHING};
use serde::Serialize;

/// How a line came out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// As it should be.
    Ok,
    /// Something to know, which stops nothing.
    Note,
    /// The step should not begin.
    Fails,
}

/// One thing that was looked at.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Line {
    /// What.
    pub name: String,
    /// How it came out.
    pub verdict: Verdict,
    /// What was found.
    pub found: String,
    /// What is needed.
    pub needed: String,
    /// By how much it passes or fails.
    pub margin: String,
    /// The command that mends it, where something is to be mended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mend: Option<String>,
}

/// Everything that was looked at.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// Changes when a field changes its meaning.
    pub version: u32,
    /// Whether a heavy step may begin.
    pub passes: bool,
    /// How the build would be done, and what was turned down for it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub plans: Vec<String>,
    /// The findings.
    pub lines: Vec<Line>,
}

impl Report {
    /// A report of these findings.
    pub fn new(lines: Vec<Line>, plans: Vec<String>) -> Self {
        let passes = lines.iter().all(|it| it.verdict != Verdict::Fails);
        Self { version: 1, passes, plans, lines }
    }

    /// The findings as a table for people; only those that are not as they should be if `faults` is set.
    pub fn table(&self, faults: bool) -> String {
        let lines = || self.lines.iter().filter(|it| !faults || it.verdict != Verdict::Ok);
        let mut table = Table::new();
        table.load_style(NOTHING).set_content_arrangement(ContentArrangement::Disabled);
        table.set_header(["", "CHECK", "FOUND", "NEEDED", "MARGIN"]);
        for line in lines() {
            let mark = match line.verdict {
                Verdict::Ok => "ok",
                Verdict::Note => "note",
                Verdict::Fails => "FAILS",
            };
            table.add_row([mark, &line.name, &line.found, &line.needed, &line.margin]);
        }
        let text = table.to_string();
        let mut rows: Vec<String> = text.lines().map(|it| it.trim_end().to_owned()).collect();
        for line in lines() {
            if let Some(mend) = &line.mend {
                rows.push(format!("{}: {mend}", line.name));
            }
        }
        rows.join("\n")
    }

    /// The names of what fails.
    pub fn failed(&self) -> Vec<&str> {
        let failed = self.lines.iter().filter(|it| it.verdict == Verdict::Fails);
        failed.map(|it| it.name.as_str()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(name: &str, verdict: Verdict, mend: Option<&str>) -> Line {
        Line {
            name: name.into(),
            verdict,
            found: "900 MB".into(),
            needed: "1200 MB".into(),
            margin: "-300 MB".into(),
            mend: mend.map(Into::into),
        }
    }

    #[test]
    fn a_table_shows_the_margin_and_below_it_what_mends() {
        let lines =
            vec![line("memory", Verdict::Fails, Some("`kill 7`")), line("disk", Verdict::Ok, None)];
        let report = Report::new(lines, Vec::new());
        assert!(!report.passes);
        assert_eq!(report.failed(), ["memory"]);
        let table = report.table(false);
        assert!(table.contains("FAILS") && table.contains("-300 MB"), "{table}");
        assert!(table.ends_with("\nmemory: `kill 7`"), "{table}");
        assert!(table.contains("disk") && !report.table(true).contains("disk"));
    }

    #[test]
    fn a_note_stops_nothing() {
        assert!(Report::new(vec![line("registry", Verdict::Note, None)], Vec::new()).passes);
    }
}
