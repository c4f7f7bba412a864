//! The forms of names, label keys and label values.

const SUBDOMAIN: &str = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric \
     characters, '-' or '.', and must start and end with an alphanumeric character (e.g. \
     'example.com', regex used for validation is \
     '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
const LABEL: &str = "a lowercase RFC 1123 label must consist of lower case alphanumeric characters \
     or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or \
     '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";
const LABEL_1035: &str = "a DNS-1035 label must consist of lower case alphanumeric characters or \
     '-', start with an alphabetic character, and end with an alphanumeric character (e.g. \
     'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')";
const NAME_PART: &str = "name part must consist of alphanumeric characters, '-', '_' or '.', and \
     must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or \
     '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
const VALUE: &str = "a valid label must be an empty string or consist of alphanumeric characters, \
     '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or \
     'my_value',  or '12345', regex used for validation is \
     '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";

const CONFIG_KEY: &str = "a valid config key must consist of alphanumeric characters, '-', '_' or \
     '.' (e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is \
     '[-._a-zA-Z0-9]+')";

/// What is wrong with a DNS subdomain: most object names.
pub(super) fn subdomain(name: &str) -> Vec<String> {
    let mut faults = too_long(name, 253);
    if !name.split('.').all(is_label) {
        faults.push(SUBDOMAIN.to_owned());
    }
    faults
}

/// What is wrong with a DNS label: namespaces, containers, volumes.
pub(super) fn label(name: &str) -> Vec<String> {
    let mut faults = too_long(name, 63);
    if !is_label(name) {
        faults.push(LABEL.to_owned());
    }
    faults
}

/// What is wrong with the older form of a DNS label: services.
pub(super) fn label_1035(name: &str) -> Vec<String> {
    let mut faults = too_long(name, 63);
    if !is_label(name) || !name.starts_with(|it: char| it.is_ascii_lowercase()) {
        faults.push(LABEL_1035.to_owned());
    }
    faults
}

/// What is wrong with a name that may be anything a URL segment can be: roles and bindings.
pub(super) fn path_segment(name: &str) -> Vec<String> {
    if name == "." || name == ".." {
        return vec![format!("may not be '{name}'")];
    }
    let bad = ["/", "%"].iter().filter(|it| name.contains(**it));
    bad.map(|it| format!("may not contain '{it}'")).collect()
}

/// What is wrong with a key of a config map or a secret, which becomes a file's name.
pub(super) fn config_key(key: &str) -> Vec<String> {
    let mut faults = Vec::new();
    if key.len() > 253 {
        faults.push("must be no more than 253 characters".to_owned());
    }
    let good = |it: u8| it.is_ascii_alphanumeric() || matches!(it, b'-' | b'_' | b'.');
    if key.is_empty() || !key.bytes().all(good) {
        faults.push(CONFIG_KEY.to_owned());
    }
    match key {
        "." => faults.push("must not be '.'".to_owned()),
        ".." => faults.push("must not be '..'".to_owned()),
        _ if key.starts_with("..") => faults.push("must not start with '..'".to_owned()),
        _ => {}
    }
    faults
}

/// What is wrong with a label key, taint key or topology key.
pub(super) fn qualified(key: &str) -> Vec<String> {
    let mut faults = Vec::new();
    let parts: Vec<&str> = key.split('/').collect();
    let name = match parts.as_slice() {
        [name] => name,
        [prefix, name] => {
            if prefix.is_empty() {
                faults.push("prefix part must be non-empty".to_owned());
            } else {
                faults.extend(subdomain(prefix).into_iter().map(|it| format!("prefix part {it}")));
            }
            name
        }
        _ => {
            return vec![format!(
                "a qualified name must consist of alphanumeric characters, '-', '_' or '.', and \
                 must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  \
                 or '123-abc', regex used for validation is \
                 '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]') with an optional DNS subdomain prefix \
                 and '/' (e.g. 'example.com/MyName')"
            )];
        }
    };
    if name.is_empty() {
        faults.push("name part must be non-empty".to_owned());
    } else if name.len() > 63 {
        faults.push("name part must be no more than 63 bytes".to_owned());
    }
    if !is_word(name) {
        faults.push(NAME_PART.to_owned());
    }
    faults
}

/// What is wrong with a label value.
pub(super) fn label_value(value: &str) -> Vec<String> {
    let mut faults = too_long(value, 63);
    if !value.is_empty() && !is_word(value) {
        faults.push(VALUE.to_owned());
    }
    faults
}

fn too_long(name: &str, max: usize) -> Vec<String> {
    if name.len() > max { vec![format!("must be no more than {max} bytes")] } else { Vec::new() }
}

fn is_label(name: &str) -> bool {
    let inner = |it: u8| it.is_ascii_lowercase() || it.is_ascii_digit() || it == b'-';
    !name.is_empty() && name.bytes().all(inner) && !name.starts_with('-') && !name.ends_with('-')
}

fn is_word(name: &str) -> bool {
    let inner = |it: u8| it.is_ascii_alphanumeric() || matches!(it, b'-' | b'_' | b'.');
    let edge = |it: Option<char>| it.is_some_and(|it| it.is_ascii_alphanumeric());
    name.bytes().all(inner) && edge(name.chars().next()) && edge(name.chars().last())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn good_names_have_no_faults() {
        for name in ["a", "a-b.c1", "0"] {
            assert_eq!(subdomain(name), Vec::<String>::new());
        }
        assert_eq!(label("web-1"), Vec::<String>::new());
        assert_eq!(label_1035("web-1"), Vec::<String>::new());
        for key in ["app", "example.com/My_Name", "a.b"] {
            assert_eq!(qualified(key), Vec::<String>::new());
        }
        for value in ["", "MyValue", "1"] {
            assert_eq!(label_value(value), Vec::<String>::new());
        }
    }

    #[test]
    fn bad_names_are_told_apart() {
        for name in ["", "A", "a_b", "-a", "a.", "a..b"] {
            assert_eq!(subdomain(name), [SUBDOMAIN]);
        }
        assert_eq!(label("a.b"), [LABEL]);
        assert_eq!(label(&"a".repeat(64)), ["must be no more than 63 bytes"]);
        assert_eq!(label_1035("1a"), [LABEL_1035]);
        assert_eq!(qualified("a b"), [NAME_PART]);
        assert_eq!(qualified("/a"), ["prefix part must be non-empty"]);
        assert_eq!(qualified("a/b/c").len(), 1);
        assert_eq!(label_value("a b"), [VALUE]);
        assert_eq!(path_segment("a/b"), ["may not contain '/'"]);
    }
}
