//! Pages: their links lead somewhere, and the maps list what there is.

use std::{collections::BTreeSet, path::Path};

use anyhow::Context as _;

use super::Text;

const CODE_MAP: &str = "docs/ARCHITECTURE.md";
const FRAMEWORK: &str = "crates/loadmaster-framework/src/lib.rs";

pub(super) fn faults(
    root: &Path,
    files: &[Text],
    packages: &[&str],
) -> anyhow::Result<Vec<String>> {
    let pages = || files.iter().filter(|it| it.is("md"));
    let mut faults: Vec<String> = pages()
        .flat_map(|page| {
            let folder = Path::new(&page.path).parent().unwrap_or_else(|| Path::new(""));
            let dead = links(&page.text).filter(move |it| !root.join(folder).join(it).exists());
            dead.map(|it| format!("{}: the link to {it} leads nowhere", page.path))
        })
        .collect();
    let text = |path: &str| {
        let found = files.iter().find(|it| it.path == path).map(|it| it.text.as_str());
        found.with_context(|| format!("there is no {path}"))
    };
    faults.extend(code_map(text(CODE_MAP)?, packages));
    faults.extend(example(text("README.md")?, text(FRAMEWORK)?));
    for (index, folder) in [("docs/README.md", "docs/"), ("labs/README.md", "labs/")] {
        let listed: BTreeSet<&str> = pages()
            .filter(|it| it.path == index)
            .flat_map(|it| links(&it.text).collect::<Vec<_>>())
            .collect();
        let names = pages().filter_map(|it| it.path.strip_prefix(folder));
        let missing = names.filter(|it| *it != "README.md" && !listed.contains(it));
        faults.extend(missing.map(|it| format!("{index}: does not list {it}")));
    }
    Ok(faults)
}

/// The README's plugin is the framework's example, which is compiled and tested.
fn example(readme: &str, framework: &str) -> Option<String> {
    let begin = |it: &&str| !it.starts_with("/// Keeps pods off");
    let end = |it: &&str| *it != "```" && *it != "let mut registry = Registry::default();";
    let shown = |text: &str| -> Vec<String> {
        let lines = text.lines().map(|it| it.strip_prefix("//!").unwrap_or(it));
        let lines = lines.map(|it| it.strip_prefix(' ').filter(|_| text != readme).unwrap_or(it));
        let lines = lines.skip_while(begin).take_while(end).map(str::to_owned);
        lines.filter(|it| !it.is_empty()).collect()
    };
    let (ours, tested) = (shown(readme), shown(framework));
    let is_tested = !ours.is_empty() && ours == tested;
    (!is_tested).then(|| format!("README.md: its plugin is not the example of {FRAMEWORK}"))
}

/// The local files that a page links to, outside of its code.
fn links(text: &str) -> impl Iterator<Item = &str> {
    let mut in_code = false;
    let prose = text.lines().filter(move |line| {
        let is_fence = line.trim_start().starts_with("```");
        in_code ^= is_fence;
        !in_code && !is_fence
    });
    let targets = prose.flat_map(|line| line.split("](").skip(1));
    let targets = targets.filter_map(|it| it.split_once(')').map(|(target, _)| target));
    let files = targets.filter_map(|it| it.split('#').next());
    // Rustdoc's links to items look alike.
    files.filter(|it| {
        !it.is_empty() && !it.contains("://") && !it.contains("::") && it.contains('.')
    })
}

/// The headings of the code map are the workspace's packages, each once.
fn code_map(text: &str, packages: &[&str]) -> Vec<String> {
    let headings = text.lines().filter_map(|it| it.strip_prefix("### `")?.strip_suffix('`'));
    let listed: Vec<&str> = headings.collect();
    let packages: BTreeSet<&str> = packages.iter().copied().collect();
    let gone = listed.iter().filter(|it| !packages.contains(**it));
    let gone = gone.map(|it| format!("{CODE_MAP}: tells of {it}, which is no crate of ours"));
    let missing =
        packages.iter().filter(|it| listed.iter().filter(|other| other == it).count() != 1);
    let missing = missing.map(|it| format!("{CODE_MAP}: must tell of {it}, once"));
    gone.chain(missing).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_to_files_are_told_from_the_rest() {
        let page = "[a](b.md#part), [c](https://d.e/f.md) and [`G`](super::G) [h](#i)\n```\n[x](y.md)\n```\n[z](../z.rs)";
        assert_eq!(links(page).collect::<Vec<_>>(), ["b.md", "../z.rs"]);
    }

    #[test]
    fn an_example_that_is_tested_otherwise_is_found() {
        let tested = "//! ```\n//! /// Keeps pods off it.\n//! struct It {\n//!     a: A,\n//! }\n//!\n//! let mut registry = Registry::default();\n";
        let same = "# Us\n```rust\n/// Keeps pods off it.\nstruct It {\n    a: A,\n}\n```\n";
        assert_eq!(example(same, tested), None);
        assert!(example(&same.replace("a: A", "b: B"), tested).is_some());
        assert!(example("", tested).is_some());
    }

    #[test]
    fn the_code_map_has_every_crate_once_and_no_other() {
        let map = "# Map\n### `a`\ntext\n### `gone`\n### `b`\n### `b`\n";
        let faults = code_map(map, &["a", "b", "c"]);
        assert_eq!(faults.len(), 3, "{faults:?}");
        assert!(code_map("### `a`\n", &["a"]).is_empty());
    }
}
