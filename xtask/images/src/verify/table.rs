//! A report for people.

use std::fmt::Write as _;

use comfy_table::{Cell, CellAlignment, Table, presets};

use super::{Part, Report, State};
use crate::digest::Digest;

/// How many digits of a digest are shown.
const DIGITS: usize = 12;

/// The report as text: the tags, a line for each part, and at the end what it comes to.
pub fn table(report: &Report) -> String {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    let right = |it: &dyn std::fmt::Display| Cell::new(it).set_alignment(CellAlignment::Right);
    let head = |it: &str| Cell::new(it);
    table.set_header([head("PART"), head("OF"), head("DIGEST"), right(&"BYTES"), head("REGISTRY")]);
    for part in &report.parts {
        table.add_row([
            Cell::new(&part.what),
            Cell::new(&part.of),
            Cell::new(short(&part.digest)),
            right(&part.size),
            Cell::new(state(&part.state)),
        ]);
    }
    let tags = if report.tags.is_empty() { "none".to_owned() } else { report.tags.join(", ") };
    let mut text = format!("{} at {}\ntags: {tags}\n", report.reference, report.registry);
    for line in table.lines().filter(|_| !report.parts.is_empty()) {
        let _ = writeln!(text, "{}", line.trim_end());
    }
    let _ = writeln!(text, "{}", verdict(report));
    text
}

fn verdict(report: &Report) -> String {
    let wrong = report.parts.iter().filter(|it| it.state != State::Right).count();
    match (&report.found, &report.built) {
        (None, _) if wrong == 0 => {
            "There is nothing under this tag. `cargo xtask build-image --push` puts an image there."
                .to_owned()
        }
        (Some(found), Some(_)) if wrong == 0 => {
            format!("The registry has what was built: {found}.")
        }
        (Some(found), None) if wrong == 0 => {
            format!("The registry has all of {found}. Nothing was built here to compare it with.")
        }
        _ => {
            let parts =
                if wrong == 1 { "1 part is".to_owned() } else { format!("{wrong} parts are") };
            format!("{parts} not as it should be: {}", advice(report))
        }
    }
}

/// What helps depends on whether the registry's content is damaged or just another image.
fn advice(report: &Report) -> &'static str {
    let damaged = |it: &Part| {
        matches!(it.state, State::Tampered { .. } | State::Size { .. } | State::Malformed { .. })
    };
    let other = |it: &Part| matches!(it.state, State::Other { .. } | State::Unknown);
    if report.parts.iter().any(damaged) {
        "content was changed in the registry. It keeps what it has under a digest, so remove the \
         repository's data there before you push again."
    } else if report.parts.iter().any(other) {
        "the tag stands for another image than the one built here. `cargo xtask build-image --push \
         --overwrite` moves it."
    } else {
        "`cargo xtask build-image --push` adds what is missing."
    }
}

fn state(state: &State) -> String {
    match state {
        State::Right => "right".to_owned(),
        State::Missing => "MISSING".to_owned(),
        State::Tampered { content } => {
            let digest = content.parse().map_or_else(|_| content.clone(), |it| short(&it));
            format!("TAMPERED: content is {digest}")
        }
        State::Size { found } => format!("WRONG SIZE: {found}"),
        State::Other { built } => format!("OTHER: built here is {}", short(built)),
        State::Unknown => "UNKNOWN: not built here".to_owned(),
        State::Unlisted => "UNLISTED: not found by its subject".to_owned(),
        State::Malformed { why } => format!("MALFORMED: {why}"),
    }
}

fn short(digest: &Digest) -> String {
    format!("sha256:{}", &digest.hex()[..DIGITS])
}
