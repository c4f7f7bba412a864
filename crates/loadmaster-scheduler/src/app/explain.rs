//! `explain [NAME]`.

use std::{fmt::Write as _, process::ExitCode};

use anyhow::bail;
use loadmaster_framework::Registry;

use super::print::print;

/// Shows the page of a plugin, or lists the plugins.
#[derive(Debug, clap::Args)]
pub(crate) struct Explain {
    /// The plugin's name; left out, all are listed
    name: Option<String>,
}

impl Explain {
    pub(super) fn run(self, registry: &Registry) -> anyhow::Result<ExitCode> {
        let page = match &self.name {
            None => list(registry),
            Some(name) => page(registry, name)?,
        };
        print(&page)?;
        Ok(ExitCode::SUCCESS)
    }
}

fn page(registry: &Registry, name: &str) -> anyhow::Result<String> {
    match registry.doc(name) {
        Some("") => Ok(format!("{name} has no page.\n")),
        Some(page) => Ok(format!("{}\n", page.trim_end())),
        None => {
            let hint = match registry.nearest(name) {
                Some(nearest) => format!("did you mean {nearest}?"),
                None => "`explain` without a name lists them".to_owned(),
            };
            bail!("no plugin is named {name:?}; {hint}")
        }
    }
}

/// Every plugin with the first sentence of its page.
fn list(registry: &Registry) -> String {
    let width = registry.names().map(str::len).max().unwrap_or(0);
    registry.names().fold(String::new(), |mut text, name| {
        let page = registry.doc(name).unwrap_or_default();
        let prose = page.lines().find(|it| !it.is_empty() && !it.starts_with('#'));
        let _ = writeln!(text, "{name:width$}  {}", prose.unwrap_or_default());
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_misspelt_name_is_answered_with_the_nearest() {
        let registry = loadmaster_plugins::registry();
        let error = page(&registry, "Concentrat").unwrap_err().to_string();
        assert_eq!(error, r#"no plugin is named "Concentrat"; did you mean Concentrate?"#);
    }
}
