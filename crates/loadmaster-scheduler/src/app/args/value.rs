//! Notations of flags that are the original's.

use std::{collections::BTreeMap, ffi::OsString};

use clap::{ArgMatches, Command};

/// Reads a boolean as the original does: `1`, `t`, `T`, `true`, `True`, `TRUE` and their opposites
/// (Go's `strconv.ParseBool`).
///
/// # Errors
/// A sentence on any other text.
pub(crate) fn boolean(text: &str) -> Result<bool, String> {
    match text {
        "1" | "t" | "T" | "true" | "True" | "TRUE" => Ok(true),
        "0" | "f" | "F" | "false" | "False" | "FALSE" => Ok(false),
        _ => Err("write true or false".to_owned()),
    }
}

/// Underscores in a long flag's name are taken for hyphens, as everywhere in Kubernetes
/// (component-base's `WordSepNormalizeFunc`).
pub(crate) fn hyphenated(args: impl IntoIterator<Item = OsString>) -> Vec<OsString> {
    let normal = |arg: OsString| {
        let Some(text) = arg.to_str().filter(|it| it.starts_with("--")) else { return arg };
        let (name, value) = text.split_at(text.find('=').unwrap_or(text.len()));
        // The original's flag may have a word of its own.
        let value =
            if name == "--version" && ["=true", "=raw"].contains(&value) { "" } else { value };
        format!("{}{value}", name.replace('_', "-")).into()
    };
    args.into_iter().map(normal).collect()
}

/// Every flag of `command` by its name, with the value that `matches` has for it; lists in brackets.
pub(crate) fn values(command: &Command, matches: &ArgMatches) -> BTreeMap<String, String> {
    let flags = command.get_arguments().filter_map(|it| Some((it, it.get_long()?)));
    flags
        .map(|(flag, name)| {
            let given = matches.try_get_raw(flag.get_id().as_str()).ok().flatten();
            let texts: Vec<_> =
                given.into_iter().flatten().map(|it| it.to_string_lossy()).collect();
            let value = match flag.get_value_delimiter() {
                Some(_) => format!("[{}]", texts.join(",")),
                None => texts.last().map(ToString::to_string).unwrap_or_default(),
            };
            (name.to_owned(), value)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_boolean_is_read_as_the_original_reads_it() {
        assert_eq!(boolean("True"), Ok(true));
        assert_eq!(boolean("0"), Ok(false));
        assert_eq!(boolean("yes"), Err("write true or false".to_owned()));
    }
}
