//! Pages: their links lead somewhere, and the maps list what there is.

use std::{collections::BTreeSet, path::Path};

use anyhow::Context as _;

use super::Text;

const CODE_MAP: &str = "docs/ARCHITECTURE.md";

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
    let map = pages().find(|it| it.path == CODE_MAP);
    let map = map.with_context(|| format!("there is no {CODE_MAP}"))?;
    faults.extend(code_map(&map.text, packages));
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
    fn the_code_map_has_every_crate_once_and_no_other() {
        let map = "# Map\n### `a`\ntext\n### `gone`\n### `b`\n### `b`\n";
        let faults = code_map(map, &["a", "b", "c"]);
        assert_eq!(faults.len(), 3, "{faults:?}");
        assert!(code_map("### `a`\n", &["a"]).is_empty());
    }
}
