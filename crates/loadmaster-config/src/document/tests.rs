use super::*;

/// The value of a text's first document, as JSON.
fn value(text: &str) -> serde_json::Value {
    let document = read(text).unwrap_or_else(|problem| panic!("{text:?}: {problem}"));
    assert!(document.problems.is_empty(), "{text:?}: {:?}", document.problems);
    document.root.to_value(Nulls::Kept)
}

fn refused(text: &str) -> String {
    match read(text) {
        Err(problem) => problem.to_string(),
        Ok(document) => match document.problems.as_slice() {
            [] => panic!("{text:?} is accepted as {:?}", document.root),
            [first, ..] => first.to_string(),
        },
    }
}

/// Expected values from `go.yaml.in/yaml/v2/resolve.go` and the way of its floats through JSON.
#[test]
fn unquoted_scalars_mean_what_they_mean_to_go() {
    use serde_json::json;
    for (text, meant) in [
        ("~", json!(null)),
        ("NULL", json!(null)),
        ("nUll", json!("nUll")),
        ("yes", json!(true)),
        ("Y", json!(true)),
        ("off", json!(false)),
        ("oFF", json!("oFF")),
        ("12", json!(12)),
        ("+12", json!(12)),
        ("-0x1F", json!(-31)),
        ("0X1f", json!(31)),
        ("017", json!(15)),
        ("0o17", json!(15)),
        ("08", json!(8)),
        ("0b101", json!(5)),
        ("-0b101", json!(-5)),
        ("1_000", json!(1000)),
        ("3.0", json!(3)),
        ("3e1", json!(30)),
        ("1.", json!(1)),
        (".5", json!(0.5)),
        ("-.5e1", json!(-5)),
        ("9223372036854775808", json!(9_223_372_036_854_775_808_u64)),
        ("-9223372036854775808", json!(i64::MIN)),
        ("1e400", json!("1e400")),
        ("0x", json!("0x")),
        ("0b2", json!("0b2")),
        ("1:30", json!("1:30")),
        ("2001-01-01", json!("2001-01-01")),
        ("--1", json!("--1")),
        ("0x-1", json!("0x-1")),
        ("+", json!("+")),
        ("!!str 3", json!("3")),
        ("!!float 3", json!(3)),
        ("!!int \"3\"", json!(3)),
        ("!mine 3", json!("3")),
        ("'3'", json!("3")),
        ("\"yes\"", json!("yes")),
    ] {
        assert_eq!(value(&format!("a: {text}\n"))["a"], meant, "{text}");
    }
}

#[test]
fn numbers_that_json_cannot_hold_and_tags_that_do_not_fit_are_refused() {
    for text in [".inf", "-.INF", ".nan", "!!int 3.5", "!!bool 3", "!!null x", "!!float x"] {
        refused(&format!("a: {text}\n"));
    }
}

#[test]
fn only_the_first_document_is_looked_at() {
    assert_eq!(value("a: 1\n---\n: : :\n\t-\n"), serde_json::json!({"a": 1}));
    assert_eq!(value("---\n---\na: 1\n"), serde_json::Value::Null);
    assert_eq!(value(""), serde_json::Value::Null);
}

#[test]
fn keys_become_text_and_repeated_ones_are_faults() {
    assert_eq!(value("1: a\ntrue: b\n"), serde_json::json!({"1": "a", "true": "b"}));
    assert_eq!(refused("x:\n- a: 1\n  a: 1\n"), "x[0].a: this key is given twice");
    assert!(refused("? [a]\n: 1\n").contains("no key"));
    assert!(refused("~: 1\n").contains("no key"));
}

#[test]
fn merge_keys_are_followed_and_overriding_one_is_a_repetition() {
    let merged = value("a: &a {x: 1}\nb: {<<: *a, z: 2}\n");
    assert_eq!(merged["b"], serde_json::json!({"x": 1, "z": 2}));
    assert_eq!(refused("a: &a {x: 1}\nb: {<<: *a, x: 2}\n"), "b.x: this key is given twice");
    assert!(refused("a: {<<: 3}\n").contains("merge key"));
}

#[test]
fn aliases_cannot_blow_a_document_up() {
    let mut text = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
    for level in 1..12 {
        let alias = format!("*a{}", level - 1);
        let aliases = vec![alias; 10].join(", ");
        text = format!("{text}a{level}: &a{level} [{aliases}]\n");
    }
    assert!(refused(&text).contains("excessive aliasing"));
    assert!(refused("a: &a [*a]\n").contains("contains itself"));
}

/// Which tabs libyaml refuses follows from `yaml_parser_scan_to_next_token`.
#[test]
fn tabs_separate_but_do_not_indent() {
    for text in [
        "a:\tb\n",
        "a: b\t\n",
        "# c\n{\n\t\"a\": [\n\t\t1]\n}\n",
        "a: [b,\n \tc]\n",
        "a: |\n  x\n  \ty\n",
        "a: 'b\n\tc'\n",
    ] {
        value(text);
    }
    for text in ["-\ta\n", "- -\ta\n", "a:\n- b:\n\tc: 1\n", "a: 1\n\t\nb: 2\n", "?\ta\n: b\n"] {
        refused(text);
    }
}

/// From `yaml_parser_update_buffer` and `yaml_parser_process_directives`.
#[test]
fn control_characters_and_other_versions_of_yaml_are_refused() {
    for text in
        ["a: \u{1}\n", "a: \u{7f}\n", "a: '\u{feff}'\n", "a: \u{fffe}\n", "%YAML 1.2\n---\na: 1\n"]
    {
        refused(text);
    }
    for text in ["\u{feff}a: 1\n", "a: \u{85}é\u{1f600}\n", "%YAML 1.1\n---\na: 1\n"] {
        value(text);
    }
}

#[test]
fn a_text_that_begins_with_a_brace_is_strict_json() {
    assert_eq!(value(" {\"a\": 3}\n"), serde_json::json!({"a": 3}));
    for text in ["{a: 3}", "{\"a\":3,}", "{\"a\":3} {}", "{\"a\":3"] {
        assert!(refused(text).contains("not valid JSON"), "{text}");
    }
}

/// JSON keeps the notation of a number: `3.0` is no integer there.
#[test]
fn a_float_in_json_stays_one() {
    assert_eq!(read("{\"a\": 3.0}").unwrap().root.get("a").unwrap().kind, Kind::Float(3.0));
    assert_eq!(read("a: 3.0").unwrap().root.get("a").unwrap().kind, Kind::Int(3));
}

#[test]
fn values_know_their_places_in_yaml() {
    let root = read("a:\n- b: 1\n  c: x\n").unwrap().root;
    let found = root.get("a").and_then(|it| it.element(0)).and_then(|it| it.get("c")).unwrap();
    assert_eq!(found.place, Some(place(3, 6)));
}
