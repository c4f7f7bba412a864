//! Whether a command printed what its page shows.
//!
//! `…` in a line stands for any text, `…` alone for any lines. Runs of spaces are one space: tables
//! move with the longest name in them.

/// What differs between what is `shown` and what was `printed`, for people; `None` if nothing does.
pub(super) fn difference(shown: &str, printed: &str) -> Option<String> {
    let (shown, printed) = (lines(shown), lines(printed));
    let reached = match_lines(&shown, &printed)?;
    let mark = |index: usize, line: &String| {
        let mark = if index == reached { ">" } else { " " };
        format!("  {mark} {line}")
    };
    let shown: Vec<String> = shown.iter().enumerate().map(|(i, it)| mark(i, it)).collect();
    let printed: Vec<String> = printed.iter().map(|it| format!("    {it}")).collect();
    Some(format!(
        "the page shows (> is the first line not found):\n{}\n\nit printed:\n{}",
        shown.join("\n"),
        printed.join("\n")
    ))
}

fn lines(text: &str) -> Vec<String> {
    let one_space = |it: &str| it.split_whitespace().collect::<Vec<_>>().join(" ");
    text.trim().lines().map(one_space).collect()
}

/// `None` if all lines match, else the index of the first shown line that none does.
fn match_lines(shown: &[String], printed: &[String]) -> Option<usize> {
    // Which printed lines may come next, after the shown lines so far.
    let mut next: Vec<bool> = vec![false; printed.len() + 1];
    next[0] = true;
    for (index, pattern) in shown.iter().enumerate() {
        let mut after = vec![false; printed.len() + 1];
        for at in (0..=printed.len()).filter(|it| next[*it]) {
            if pattern == ANY {
                after[at..].fill(true);
                break;
            }
            if printed.get(at).is_some_and(|line| matches_line(pattern, line)) {
                after[at + 1] = true;
            }
        }
        if !after.contains(&true) {
            return Some(index);
        }
        next = after;
    }
    (!next[printed.len()]).then_some(shown.len())
}

/// Whether a line is what the pattern shows, `…` being any text.
fn matches_line(pattern: &str, line: &str) -> bool {
    let mut parts = pattern.split(ANY);
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = line.strip_prefix(first) else { return false };
    let mut parts = parts.peekable();
    if parts.peek().is_none() {
        return rest.is_empty();
    }
    while let Some(part) = parts.next() {
        if parts.peek().is_none() {
            return rest.ends_with(part);
        }
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    true
}

const ANY: &str = "…";

#[cfg(test)]
mod tests {
    use super::*;

    fn same(shown: &str, printed: &str) -> bool {
        difference(shown, printed).is_none()
    }

    #[test]
    fn equal_text_is_equal_whatever_the_spaces() {
        assert!(same("NAME   READY\nx      1/1\n", "NAME      READY\nx 1/1   \n\n"));
        assert!(!same("x 1/1", "x 0/1"));
        assert!(!same("x", "x\ny"));
        assert!(!same("x\ny", "x"));
    }

    #[test]
    fn an_ellipsis_in_a_line_is_any_text() {
        assert!(same("spread-… 1/1 Running", "spread-7c9-x2x4k 1/1 Running"));
        assert!(same("6 node-…", "6 node-2"));
        assert!(same("a … b … c", "a 1 b 2 b 3 c"));
        assert!(!same("6 node-…", "5 node-2"));
        assert!(!same("ab…ba", "aba"));
    }

    #[test]
    fn an_ellipsis_alone_is_any_lines() {
        assert!(same("first\n…\nlast", "first\nlast"));
        assert!(same("first\n…\nlast", "first\na\nlast\nb\nlast"));
        assert!(same("…\nlast", "a\nb\nlast"));
        assert!(!same("first\n…\nlast", "first\na"));
        assert!(!same("…\nlast", "last\na"));
    }

    #[test]
    fn the_first_line_not_found_is_marked() {
        let text = difference("a\n…\nb\nc", "a\nx\ny").unwrap();
        assert!(text.contains("  > b"), "{text}");
    }
}
