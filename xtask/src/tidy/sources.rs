//! Source files: their size, and what must not be left in them.

use super::Text;

/// How long a file of one subject may be.
const LINES_MAX: usize = 600;

/// Words of work that is not done. Spelt apart, so that this file passes.
const UNDONE: &[&str] = &[
    concat!("TO", "DO"),
    concat!("FIX", "ME"),
    concat!("XX", "X:"),
    concat!("todo", "!("),
    concat!("unimplemented", "!("),
];

pub(super) fn faults(files: &[Text]) -> impl Iterator<Item = String> + '_ {
    files.iter().flat_map(of_file)
}

fn of_file(file: &Text) -> Vec<String> {
    let mut faults = Vec::new();
    let lines = file.text.lines().count();
    if file.is("rs") && lines > LINES_MAX {
        let path = &file.path;
        faults.push(format!("{path}: {lines} lines, more than {LINES_MAX}; split it by subject"));
    }
    for (index, line) in file.text.lines().enumerate() {
        let place = format!("{}:{}", file.path, index + 1);
        if let Some(word) = UNDONE.iter().find(|it| line.contains(**it)) {
            faults.push(format!("{place}: `{word}`; do it or open an issue"));
        }
        if line.ends_with([' ', '\t']) {
            faults.push(format!("{place}: space at the end"));
        }
    }
    if !file.text.is_empty() && !file.text.ends_with('\n') {
        faults.push(format!("{}: the last line does not end", file.path));
    }
    faults
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(path: &str, text: &str) -> Vec<String> {
        of_file(&Text { path: path.to_owned(), text: text.to_owned() })
    }

    #[test]
    fn what_is_not_done_and_what_is_too_long_is_found() {
        let undone = format!("// {}: later\n", UNDONE[0]);
        assert_eq!(check("a.rs", &undone).len(), 1);
        assert_eq!(check("a.rs", &"\n".repeat(601)).len(), 1);
        assert_eq!(check("a.md", &"\n".repeat(601)), [""; 0]);
        assert_eq!(check("a.rs", "fn f() {} \n").len(), 1);
        assert_eq!(check("a.rs", "fn f() {}").len(), 1);
        assert_eq!(check("a.rs", "fn f() {}\n"), [""; 0]);
    }
}
