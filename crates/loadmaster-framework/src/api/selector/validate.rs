//! The form of label keys and values, with upstream's words for what is wrong.

const KEY_RULE: &str = "must consist of alphanumeric characters, '-', '_' or '.', and must start \
    and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex \
    used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";

const VALUE_RULE: &str = "a valid label must be an empty string or consist of alphanumeric \
    characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. \
    'MyValue',  or 'my_value',  or '12345', regex used for validation is \
    '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";

const SUBDOMAIN_RULE: &str = "a lowercase RFC 1123 subdomain must consist of lower case \
    alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character \
    (e.g. 'example.com', regex used for validation is \
    '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";

/// The longest name or value of a label, in bytes.
const NAME_BYTES_MAX: usize = 63;

/// The longest DNS subdomain, in bytes.
const SUBDOMAIN_BYTES_MAX: usize = 253;

/// What is wrong with `key` as a label's key or other qualified name (upstream: `IsLabelKey`).
pub(crate) fn label_key_errors(key: &str) -> Vec<String> {
    let mut errors = Vec::new();
    let name = match key.split('/').collect::<Vec<_>>().as_slice() {
        [name] => *name,
        [prefix, name] => {
            if prefix.is_empty() {
                errors.push("prefix part must be non-empty".to_owned());
            } else {
                errors.extend(subdomain_errors(prefix).map(|error| format!("prefix part {error}")));
            }
            *name
        }
        _ => {
            return vec![format!(
                "a valid label key {KEY_RULE} with an optional DNS subdomain prefix and '/' (e.g. \
                 'example.com/MyName')"
            )];
        }
    };
    if name.is_empty() {
        errors.push("name part must be non-empty".to_owned());
    } else if name.len() > NAME_BYTES_MAX {
        errors.push(format!("name part must be no more than {NAME_BYTES_MAX} bytes"));
    }
    if !is_name(name) {
        errors.push(format!("name part {KEY_RULE}"));
    }
    errors
}

/// What is wrong with `value` as a label's value (upstream: `IsLabelValue`).
pub(super) fn label_value_errors(value: &str) -> Vec<String> {
    let mut errors = Vec::new();
    if value.len() > NAME_BYTES_MAX {
        errors.push(format!("must be no more than {NAME_BYTES_MAX} bytes"));
    }
    if !value.is_empty() && !is_name(value) {
        errors.push(VALUE_RULE.to_owned());
    }
    errors
}

/// What is wrong with `text` as a DNS subdomain (upstream: `IsDNS1123Subdomain`).
fn subdomain_errors(text: &str) -> impl Iterator<Item = String> {
    let long = text.len() > SUBDOMAIN_BYTES_MAX;
    let label = |label: &str| {
        let edge = |c: Option<&u8>| c.is_some_and(|c| c.is_ascii_lowercase() || c.is_ascii_digit());
        let bytes = label.as_bytes();
        let inner = |c: &u8| c.is_ascii_lowercase() || c.is_ascii_digit() || *c == b'-';
        edge(bytes.first()) && edge(bytes.last()) && bytes.iter().all(inner)
    };
    let form = !text.split('.').all(label);
    long.then(|| format!("must be no more than {SUBDOMAIN_BYTES_MAX} bytes"))
        .into_iter()
        .chain(form.then(|| SUBDOMAIN_RULE.to_owned()))
}

/// Letters, digits, `-`, `_` and `.`, with a letter or digit at both ends.
fn is_name(name: &str) -> bool {
    let edge = |c: Option<&u8>| c.is_some_and(u8::is_ascii_alphanumeric);
    let bytes = name.as_bytes();
    edge(bytes.first())
        && edge(bytes.last())
        && bytes.iter().all(|c| c.is_ascii_alphanumeric() || matches!(c, b'-' | b'_' | b'.'))
}
