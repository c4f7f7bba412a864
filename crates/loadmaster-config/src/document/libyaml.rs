//! What libyaml refuses and newer YAML readers let pass. Go's reader is libyaml's, so
//! `kube-scheduler` refuses such files.
//!
//! Source: `go.yaml.in/yaml/v2`, `scannerc.go` and `readerc.go`.

use std::ops::RangeInclusive;

use super::place;
use crate::error::{Place, Problem};

/// The first fault in the lines up to `last`. `inside` are the lines, counted from 1, that begin
/// within a scalar or a flow collection.
pub(super) fn check(
    text: &str,
    inside: &[RangeInclusive<usize>],
    last: usize,
) -> Result<(), Problem> {
    let lines = text.lines().enumerate().map(|(index, line)| (index + 1, line));
    for (number, line) in lines.take_while(|(number, _)| *number <= last) {
        let within = inside.iter().any(|it| it.contains(&number));
        if let Some(at) = leading_tab(line, number).filter(|_| !within) {
            let message = "not valid YAML: a tab cannot indent";
            return Err(Problem::new("", message).at(at).hint("use spaces"));
        }
        // A byte order mark may begin a text.
        let odd = |&(index, it): &(usize, char)| {
            let mark = it == '\u{feff}' && (number, index) == (1, 0);
            !mark && !is_printable(it)
        };
        if let Some((index, odd)) = line.chars().enumerate().find(odd) {
            let message = format!("not valid YAML: the character {odd:?} is not allowed");
            return Err(Problem::new("", message).at(place(number, index + 1)));
        }
    }
    Ok(())
}

/// A tab where the first token of a line, or one behind `-` or `?`, could begin a key: inside
/// scalars and flow collections tabs are content or harmless.
fn leading_tab(line: &str, number: usize) -> Option<Place> {
    let before = &line[..line.find('\t')?];
    let indicators = before.split(' ').all(|it| matches!(it, "" | "-" | "?"));
    indicators.then(|| place(number, before.chars().count() + 1))
}

fn is_printable(it: char) -> bool {
    matches!(it,
        '\t' | '\r' | ' '..='~' | '\u{85}' | '\u{a0}'..='\u{fefe}' | '\u{ff00}'..='\u{fffd}'
        | '\u{10000}'..)
}
