//! A lab page as its steps.
//!
//! Blocks of code that are marked `sh` are typed; a block marked `text` right after one is what it
//! prints. `labs/README.md` tells the rest to those who write pages.

use std::{fs, path::Path};

use anyhow::Context as _;

use crate::UserError;

/// Typed in a block of the second terminal, it is what it says.
pub(super) const CTRL_C: &str = "# Ctrl-C";

/// A lab page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Page {
    /// Its file, as people name it.
    pub(super) file: String,
    /// What is typed, in order.
    pub(super) steps: Vec<Step>,
}

/// One block of commands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Step {
    /// The line of the page where the block begins.
    pub(super) line: usize,
    /// Where it is typed.
    pub(super) window: Window,
    /// Whether its last failing command is meant to fail.
    pub(super) fails: bool,
    /// What is typed.
    pub(super) commands: String,
    /// What it prints, as the page shows it.
    pub(super) expected: Option<String>,
}

/// A terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Window {
    /// The one in which everything is typed.
    First,
    /// The one for what keeps running.
    Second,
}

impl Page {
    /// Whether it types kubectl.
    pub(super) fn needs_kubectl(&self) -> bool {
        self.steps.iter().any(|it| it.commands.contains("kubectl"))
    }
}

/// Reads the pages with these numbers, or all of them, in order.
///
/// # Errors
/// [`UserError`] for a number without a page.
pub(super) fn find(folder: &Path, wanted: &[String]) -> anyhow::Result<Vec<Page>> {
    let entries = fs::read_dir(folder);
    let entries = entries.with_context(|| format!("cannot look into {}", folder.display()))?;
    let names = entries.map(|it| Ok(it?.file_name().to_string_lossy().into_owned()));
    let mut names: Vec<String> = names.collect::<Result<_, std::io::Error>>()?;
    let is_page = |it: &str| Path::new(it).extension().is_some_and(|it| it == "md");
    names.retain(|it| is_page(it) && number(it).is_some());
    names.sort();
    let all = wanted.iter().any(|it| it == "all");
    for word in wanted.iter().filter(|it| *it != "all") {
        let known = word.parse().is_ok_and(|it| names.iter().any(|name| number(name) == Some(it)));
        if !known {
            let names = names.join(", ");
            let text = format!("there is no lab page `{word}`.\n\nhint: the pages are {names}");
            return Err(UserError(text).into());
        }
    }
    names.retain(|name| all || wanted.iter().any(|it| it.parse().ok() == number(name)));
    let read = |name: String| {
        let text = fs::read_to_string(folder.join(&name));
        let text = text.with_context(|| format!("cannot read labs/{name}"))?;
        parse(&format!("labs/{name}"), &text)
    };
    names.into_iter().map(read).collect()
}

/// The number in front of a page's name.
fn number(name: &str) -> Option<u32> {
    name.split_once('-')?.0.parse().ok()
}

/// A fenced block: the line of its fence, the words after it, its text.
struct Block<'a> {
    line: usize,
    words: Vec<&'a str>,
    text: String,
    /// Whether nothing but empty lines stands between this block and the one before.
    follows: bool,
}

fn parse(file: &str, text: &str) -> anyhow::Result<Page> {
    let mut steps: Vec<Step> = Vec::new();
    let mut shown = false;
    for block in blocks(text) {
        let (line, mut words) = (block.line, block.words.into_iter());
        match words.next() {
            Some("sh") => {
                let mut step = Step {
                    line,
                    window: Window::First,
                    fails: false,
                    commands: block.text,
                    expected: None,
                };
                for word in words {
                    match word {
                        "second-terminal" => step.window = Window::Second,
                        "fails" => step.fails = true,
                        other => {
                            let text = format!("{file}:{line}: `{other}` means nothing after `sh`");
                            return Err(UserError(text).into());
                        }
                    }
                }
                steps.push(step);
                shown = false;
            }
            Some("text") if block.follows && !shown => {
                let step = steps.last_mut();
                let text = format!("{file}:{line}: a `text` block without commands before it");
                step.ok_or(UserError(text))?.expected = Some(block.text);
                shown = true;
            }
            Some("text") => {
                let text =
                    format!("{file}:{line}: a `text` block must follow the commands that print it");
                return Err(UserError(text).into());
            }
            _ => {}
        }
    }
    Ok(Page { file: file.to_owned(), steps })
}

fn blocks(text: &str) -> Vec<Block<'_>> {
    let mut found: Vec<Block<'_>> = Vec::new();
    let (mut open, mut follows) = (false, false);
    for (index, line) in text.lines().enumerate() {
        match (line.strip_prefix("```"), open) {
            (Some(words), false) => {
                let words = words.split_whitespace().collect();
                found.push(Block { line: index + 1, words, text: String::new(), follows });
                open = true;
            }
            (Some(_), true) => (open, follows) = (false, true),
            (None, true) => {
                if let Some(block) = found.last_mut() {
                    block.text.push_str(line);
                    block.text.push('\n');
                }
            }
            (None, false) => follows = follows && line.trim().is_empty(),
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = "\
# Lab

```yaml
kind: NotTyped
```

```sh
kubectl get nodes
```

```text
NAME
```

Then:

```sh second-terminal
scheduler
```

```sh fails
false
```
";

    #[test]
    fn commands_are_taken_with_what_they_print() {
        let page = parse("p.md", PAGE).unwrap();
        assert_eq!(page.steps.len(), 3);
        let first = &page.steps[0];
        assert_eq!((first.line, first.commands.as_str()), (7, "kubectl get nodes\n"));
        assert_eq!(first.expected.as_deref(), Some("NAME\n"));
        assert_eq!(page.steps[1].window, Window::Second);
        assert_eq!(page.steps[1].expected, None);
        assert!(page.steps[2].fails && !first.fails);
        assert!(page.needs_kubectl());
    }

    #[test]
    fn output_that_belongs_to_no_command_is_a_mistake() {
        assert!(parse("p.md", "```text\nx\n```\n").is_err());
        assert!(parse("p.md", "```sh\nx\n```\n\nprose\n\n```text\nx\n```\n").is_err());
        assert!(parse("p.md", "```sh backgroud\nx\n```\n").is_err());
    }

    #[test]
    fn a_page_is_found_by_its_number() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../labs");
        let names = |wanted: &[&str]| -> Vec<String> {
            let wanted: Vec<String> = wanted.iter().map(|it| (*it).to_owned()).collect();
            find(&folder, &wanted).unwrap().into_iter().map(|it| it.file).collect()
        };
        assert_eq!(names(&["2"]), ["labs/02-concentrate.md"]);
        assert_eq!(names(&["all"])[0], "labs/01-cache-locality.md");
        let error = find(&folder, &["99".to_owned()]).unwrap_err().to_string();
        assert!(error.contains("02-concentrate.md"), "{error}");
    }
}
