//! `$(VAR)` in commands, arguments and environments.
//!
//! Source: `third_party/forked/golang/expansion/expand.go` 1.36, by its documentation: `$$` is a
//! dollar sign, a name that is not known stays as it is written.

/// Replaces every `$(NAME)` by what `lookup` knows.
pub(super) fn expand(text: &str, lookup: impl Fn(&str) -> Option<String>) -> String {
    let mut expanded = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('$') {
        expanded.push_str(&rest[..at]);
        rest = &rest[at + 1..];
        if let Some(after) = rest.strip_prefix('$') {
            expanded.push('$');
            rest = after;
        } else if let Some((name, after)) = rest.strip_prefix('(').and_then(|it| it.split_once(')'))
        {
            expanded.push_str(&lookup(name).unwrap_or_else(|| format!("$({name})")));
            rest = after;
        } else {
            expanded.push('$');
        }
    }
    expanded.push_str(rest);
    expanded
}

#[cfg(test)]
mod tests {
    use super::expand;

    #[test]
    fn known_names_are_replaced_and_everything_else_stays() {
        let lookup = |name: &str| match name {
            "A" => Some("1".to_owned()),
            "EMPTY" => Some(String::new()),
            _ => None,
        };
        for (text, expected) in [
            ("--x=$(A)", "--x=1"),
            ("$(A)$(A)", "11"),
            ("$(B)", "$(B)"),
            ("$$(A)", "$(A)"),
            ("$$$$(A)", "$$(A)"),
            ("[$(EMPTY)]", "[]"),
            ("$A $(A", "$A $(A"),
            ("$", "$"),
            ("", ""),
        ] {
            assert_eq!(expand(text, lookup), expected, "{text}");
        }
    }
}
