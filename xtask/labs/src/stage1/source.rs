//! Where the repository declares an extension point, and where a plugin serves it.

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::Context as _;
use serde::Serialize;

/// A line of the repository's source.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Place {
    /// The file, from the repository's root.
    pub(crate) file: PathBuf,
    /// The line, counted from 1.
    pub(crate) line: usize,
}

impl std::fmt::Display for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}", self.file.display(), self.line)
    }
}

/// A point that a plugin serves.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Served {
    /// The plugin.
    pub(crate) plugin: String,
    /// The extension point.
    pub(crate) point: String,
    /// The line that declares the point.
    pub(crate) declared_at: Place,
    /// The line where the plugin's implementation begins.
    pub(crate) implemented_at: Place,
}

/// Finds the points of a profile's `plugins` whose implementation is in the repository at `root`. A
/// plugin named at `multiPoint` serves what it implements.
pub(crate) fn served(root: &Path, plugins: &[(String, String)]) -> anyhow::Result<Vec<Served>> {
    let mut files = Vec::new();
    rust_files(&root.join("crates"), &mut files)?;
    files.sort();
    let sources: Vec<(PathBuf, String)> = files
        .into_iter()
        .map(|file| {
            let text = fs::read_to_string(&file);
            let text = text.with_context(|| format!("cannot read {}", file.display()))?;
            let file = file.strip_prefix(root).map_or_else(|_| file.clone(), Path::to_owned);
            anyhow::Ok((file, text))
        })
        .collect::<Result<_, _>>()?;
    Ok(search(&sources, plugins))
}

fn search(sources: &[(PathBuf, String)], plugins: &[(String, String)]) -> Vec<Served> {
    let find = |begins: &str| {
        sources.iter().find_map(|(file, text)| {
            let line = text.lines().position(|line| line.starts_with(begins))?;
            Some(Place { file: file.clone(), line: line + 1 })
        })
    };
    let mut found = Vec::new();
    for (plugin, at) in plugins {
        for point in POINTS {
            let wanted = at == "multiPoint" || at.eq_ignore_ascii_case(point);
            let declared = find(&format!("pub trait {point}: "));
            let implemented = find(&format!("impl {point} for {plugin} {{"));
            if let (true, Some(declared_at), Some(implemented_at)) = (wanted, declared, implemented)
            {
                let (plugin, point) = (plugin.clone(), (*point).to_owned());
                found.push(Served { plugin, point, declared_at, implemented_at });
            }
        }
    }
    found
}

fn rust_files(folder: &Path, found: &mut Vec<PathBuf>) -> anyhow::Result<()> {
    let entries = fs::read_dir(folder);
    let entries = entries.with_context(|| format!("cannot look into {}", folder.display()))?;
    for entry in entries {
        let path = entry?.path();
        if path.is_dir() {
            rust_files(&path, found)?;
        } else if path.extension().is_some_and(|it| it == "rs") {
            found.push(path);
        }
    }
    Ok(())
}

/// The extension points that a profile can name, in the order in which a pod meets them.
const POINTS: &[&str] = &[
    "PreEnqueue",
    "QueueSort",
    "PreFilter",
    "Filter",
    "PostFilter",
    "PreScore",
    "Score",
    "Reserve",
    "Permit",
    "PreBind",
    "Bind",
    "PostBind",
];

#[cfg(test)]
mod tests {
    use super::*;

    fn sources() -> Vec<(PathBuf, String)> {
        let framework = "//! Points.\npub trait Filter: Send {}\npub trait Score: Send {}\n";
        let plugin = "// impl Score for Mine {\nstruct Mine;\n\nimpl Filter for Mine {}\nimpl Score for Mine {}\n";
        vec![("points.rs".into(), framework.into()), ("mine.rs".into(), plugin.into())]
    }

    fn lines(plugins: &[(&str, &str)]) -> Vec<String> {
        let plugins: Vec<_> =
            plugins.iter().map(|(name, at)| ((*name).to_owned(), (*at).to_owned())).collect();
        let show = |it: Served| format!("{} {} {}", it.point, it.declared_at, it.implemented_at);
        search(&sources(), &plugins).into_iter().map(show).collect()
    }

    #[test]
    fn the_point_named_in_the_profile_is_found_with_both_its_lines() {
        assert_eq!(lines(&[("Mine", "score")]), ["Score points.rs:3 mine.rs:5"]);
    }

    #[test]
    fn multi_point_stands_for_everything_that_is_implemented() {
        let both = ["Filter points.rs:2 mine.rs:4", "Score points.rs:3 mine.rs:5"];
        assert_eq!(lines(&[("Mine", "multiPoint")]), both);
        assert!(lines(&[("Foreign", "multiPoint")]).is_empty());
    }

    #[test]
    fn the_plugin_of_the_course_is_found_in_this_repository() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let plugins = [("Concentrate".to_owned(), "score".to_owned())];
        let found = served(&root, &plugins).unwrap();
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].implemented_at.file.ends_with("concentrate.rs"));
    }
}
