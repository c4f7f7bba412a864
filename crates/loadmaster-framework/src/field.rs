//! What is wrong with one field of a configuration, in upstream's words.
//!
//! Validation collects these instead of stopping at the first, so a person sees all of a file's
//! faults at once. [`FieldError`] prints as upstream's `field.Error` does, which is what people
//! search for.
//!
//! Source: `k8s.io/apimachinery/pkg/util/validation/field` and `pkg/api/validate/content`, 1.36.

use std::fmt;

/// The kind of fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FieldErrorKind {
    /// A value must be given.
    Required,
    /// The value is malformed or out of range.
    Invalid,
    /// The value is none of the known ones.
    NotSupported,
    /// The value occurs a second time where it may occur once.
    Duplicate,
    /// No value may be given here.
    Forbidden,
}

/// One fault of one field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldError {
    /// Where, as in `profiles[0].pluginConfig[1].args.bindTimeoutSeconds`.
    pub path: String,
    /// What kind of fault.
    pub kind: FieldErrorKind,
    /// The value as it is shown: strings are quoted; empty where none is shown.
    pub value: String,
    /// What would be right.
    pub detail: String,
}

impl FieldError {
    /// A value is missing; `detail` may be empty.
    pub fn required(path: impl Into<String>, detail: impl Into<String>) -> Self {
        let kind = FieldErrorKind::Required;
        Self { path: path.into(), kind, value: String::new(), detail: detail.into() }
    }

    /// A value is wrong. `value` is shown as it is given: quote strings with [`quoted`].
    pub fn invalid(
        path: impl Into<String>,
        value: impl fmt::Display,
        detail: impl Into<String>,
    ) -> Self {
        let kind = FieldErrorKind::Invalid;
        Self { path: path.into(), kind, value: value.to_string(), detail: detail.into() }
    }

    /// A word is none of `supported`, which are listed in their order.
    pub fn not_supported(path: impl Into<String>, value: &str, supported: &[&str]) -> Self {
        let listed: Vec<String> = supported.iter().map(|it| quoted(it)).collect();
        Self {
            path: path.into(),
            kind: FieldErrorKind::NotSupported,
            value: quoted(value),
            detail: format!("supported values: {}", listed.join(", ")),
        }
    }

    /// A value occurs twice.
    pub fn duplicate(path: impl Into<String>, value: &str) -> Self {
        let kind = FieldErrorKind::Duplicate;
        Self { path: path.into(), kind, value: quoted(value), detail: String::new() }
    }

    /// A value must not be given.
    pub fn forbidden(path: impl Into<String>, detail: impl Into<String>) -> Self {
        let kind = FieldErrorKind::Forbidden;
        Self { path: path.into(), kind, value: String::new(), detail: detail.into() }
    }
}

impl fmt::Display for FieldError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (word, with_value) = match self.kind {
            FieldErrorKind::Required => ("Required value", false),
            FieldErrorKind::Invalid => ("Invalid value", true),
            FieldErrorKind::NotSupported => ("Unsupported value", true),
            FieldErrorKind::Duplicate => ("Duplicate value", true),
            FieldErrorKind::Forbidden => ("Forbidden", false),
        };
        write!(f, "{}: {word}", self.path)?;
        if with_value {
            write!(f, ": {}", self.value)?;
        }
        if !self.detail.is_empty() {
            write!(f, ": {}", self.detail)?;
        }
        Ok(())
    }
}

impl std::error::Error for FieldError {}

/// Several faults in one line, as upstream's aggregated errors print: one alone, more in brackets.
pub fn aggregate<T: fmt::Display>(errors: &[T]) -> String {
    let texts: Vec<String> = errors.iter().map(T::to_string).collect();
    match texts.as_slice() {
        [one] => one.clone(),
        many => format!("[{}]", many.join(", ")),
    }
}

/// The path of `name` inside `path`; the root is the empty path.
pub fn child(path: &str, name: &str) -> String {
    if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") }
}

/// The path of the element `index` of the list at `path`.
pub fn element(path: &str, index: usize) -> String {
    format!("{path}[{index}]")
}

/// A string in double quotes, with escapes.
pub fn quoted(text: &str) -> String {
    format!("{text:?}")
}

/// What is wrong with `value` as a label key (upstream's "qualified name"); empty when it is one.
pub fn label_key_faults(value: &str) -> Vec<String> {
    let parts: Vec<&str> = value.split('/').collect();
    let mut faults = Vec::new();
    let name = match parts.as_slice() {
        [name] => *name,
        [prefix, name] => {
            if prefix.is_empty() {
                faults.push("prefix part must be non-empty".to_owned());
            } else {
                faults.extend(subdomain_faults(prefix).map(|it| format!("prefix part {it}")));
            }
            *name
        }
        _ => {
            return vec![format!(
                "a valid label key {LABEL_KEY} with an optional DNS subdomain prefix and '/' \
                 (e.g. 'example.com/MyName')"
            )];
        }
    };
    if name.is_empty() {
        faults.push("name part must be non-empty".to_owned());
    } else if name.len() > LABEL_MAX {
        faults.push(format!("name part must be no more than {LABEL_MAX} bytes"));
    }
    if !is_label_word(name) {
        faults.push(format!("name part {LABEL_KEY}"));
    }
    faults
}

/// What is wrong with `value` as a label value; empty when it is one.
pub fn label_value_faults(value: &str) -> Vec<String> {
    let mut faults = Vec::new();
    if value.len() > LABEL_MAX {
        faults.push(format!("must be no more than {LABEL_MAX} bytes"));
    }
    if !value.is_empty() && !is_label_word(value) {
        faults.push(LABEL_VALUE.to_owned());
    }
    faults
}

/// Faults of a DNS subdomain (RFC 1123).
fn subdomain_faults(value: &str) -> impl Iterator<Item = String> {
    let long = (value.len() > SUBDOMAIN_MAX)
        .then(|| format!("must be no more than {SUBDOMAIN_MAX} bytes"));
    let malformed = (!value.split('.').all(is_dns_label)).then(|| SUBDOMAIN.to_owned());
    long.into_iter().chain(malformed)
}

fn is_dns_label(label: &str) -> bool {
    let inner = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
    framed(label.as_bytes(), inner, |b| b != b'-')
}

fn is_label_word(word: &str) -> bool {
    let inner = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.');
    framed(word.as_bytes(), inner, |b| b.is_ascii_alphanumeric())
}

/// Whether all bytes are `inner` ones, and the first and the last are `edge` ones too.
fn framed(bytes: &[u8], inner: impl Fn(u8) -> bool, edge: impl Fn(u8) -> bool) -> bool {
    match (bytes.first(), bytes.last()) {
        (Some(&first), Some(&last)) => {
            edge(first) && edge(last) && bytes.iter().all(|&it| inner(it))
        }
        _ => false,
    }
}

const LABEL_MAX: usize = 63;
const SUBDOMAIN_MAX: usize = 253;

const LABEL_KEY: &str = "must consist of alphanumeric characters, '-', '_' or '.', and must start \
    and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex \
    used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
const LABEL_VALUE: &str = "a valid label must be an empty string or consist of alphanumeric \
    characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. \
    'MyValue',  or 'my_value',  or '12345', regex used for validation is \
    '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";
const SUBDOMAIN: &str = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric \
    characters, '-' or '.', and must start and end with an alphanumeric character (e.g. \
    'example.com', regex used for validation is \
    '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_print_as_upstream_prints_them() {
        let shown = |it: FieldError| it.to_string();
        assert_eq!(shown(FieldError::required("profiles", "")), "profiles: Required value");
        assert_eq!(
            shown(FieldError::invalid("a[0].weight", 0, "must be 1")),
            "a[0].weight: Invalid value: 0: must be 1"
        );
        assert_eq!(
            shown(FieldError::not_supported("defaultingType", "list", &["System", "List"])),
            "defaultingType: Unsupported value: \"list\": supported values: \"System\", \"List\""
        );
        assert_eq!(
            shown(FieldError::duplicate("pluginConfig[1]", "Foo")),
            "pluginConfig[1]: Duplicate value: \"Foo\""
        );
        assert_eq!(shown(FieldError::forbidden("x", "must be nil")), "x: Forbidden: must be nil");
    }

    #[test]
    fn one_error_stands_alone_and_more_are_bracketed() {
        assert_eq!(aggregate(&["a"]), "a");
        assert_eq!(aggregate(&["a", "b"]), "[a, b]");
    }

    #[test]
    fn label_keys_are_checked_in_both_parts() {
        for good in ["a", "a.b/c", "9-x_Y.z", &"a".repeat(63)] {
            assert_eq!(label_key_faults(good), Vec::<String>::new(), "{good}");
        }
        for bad in ["", "-x", "a/b/c", "/a", "a/", "A.b/c", "a_b/c", &"a".repeat(64), "x "] {
            assert!(!label_key_faults(bad).is_empty(), "{bad}");
        }
        assert!(label_key_faults("a/b/c!")[0].starts_with("a valid label key must consist"));
        assert!(label_key_faults("-x")[0].starts_with("name part must consist"));
    }

    #[test]
    fn label_values_may_be_empty_but_not_malformed() {
        assert!(label_value_faults("").is_empty() && label_value_faults("my_value").is_empty());
        assert!(!label_value_faults("a b").is_empty());
        assert_eq!(label_value_faults(&"a".repeat(64)), ["must be no more than 63 bytes"]);
    }
}
