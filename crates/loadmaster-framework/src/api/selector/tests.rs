use super::*;

fn selector(json: &str) -> LabelSelector {
    serde_json::from_str(json).unwrap()
}

fn compiled(json: &str) -> Selector {
    selector(json).compile().unwrap()
}

fn labels(json: &str) -> Labels {
    serde_json::from_str(json).unwrap()
}

fn error(json: &str) -> String {
    selector(json).compile().unwrap_err().to_string()
}

fn expression(key: &str, operator: &str, values: &str) -> String {
    format!(
        r#"{{"matchExpressions":[{{"key":"{key}","operator":"{operator}","values":{values}}}]}}"#
    )
}

#[test]
fn an_absent_selector_selects_nothing_and_an_empty_one_everything() {
    let nothing = LabelSelector::compile_optional(None).unwrap();
    assert!(nothing.is_nothing() && !nothing.is_empty());
    assert!(!nothing.matches(&Labels::default()));
    let everything = LabelSelector::compile_optional(Some(&LabelSelector::default())).unwrap();
    assert!(everything.is_empty() && !everything.is_nothing());
    assert!(everything.matches(&Labels::default()));
    assert!(everything.matches(&labels(r#"{"a":"b"}"#)));
    assert_eq!(everything, Selector::everything());
}

#[test]
fn each_operator_decides_on_present_other_and_absent_values() {
    // For each operator: is {"k":"a"}, {"k":"b"}, {"x":"a"} selected?
    for (operator, values, expected) in [
        ("In", r#"["a","c"]"#, [true, false, false]),
        ("NotIn", r#"["a","c"]"#, [false, true, true]),
        ("Exists", "[]", [true, true, false]),
        ("Exists", "null", [true, true, false]),
        ("DoesNotExist", "[]", [false, false, true]),
    ] {
        let selector = compiled(&expression("k", operator, values));
        let found = [r#"{"k":"a"}"#, r#"{"k":"b"}"#, r#"{"x":"a"}"#]
            .map(|it| selector.matches(&labels(it)));
        assert_eq!(found, expected, "{operator}");
    }
}

#[test]
fn all_requirements_must_hold() {
    let it = compiled(
        r#"{"matchLabels":{"app":"web"},
            "matchExpressions":[{"key":"tier","operator":"NotIn","values":["test"]}]}"#,
    );
    assert!(it.matches(&labels(r#"{"app":"web"}"#)));
    assert!(!it.matches(&labels(r#"{"app":"web","tier":"test"}"#)));
    assert!(!it.matches(&labels(r#"{"tier":"prod"}"#)));
}

#[test]
fn numeric_operators_compare_integers_and_refuse_other_values() {
    let requirement = |operator, value: &str| {
        Requirement::new(&"k".into(), operator, &[value.into()], &Field::root())
    };
    let more = requirement(Operator::GreaterThan, "10").unwrap();
    let less = requirement(Operator::LessThan, "10").unwrap();
    // For each value: is it more than 10, is it less than 10?
    for (value, expected) in [
        ("11", [true, false]),
        ("10", [false, false]),
        ("9", [false, true]),
        ("+11", [true, false]),
        ("-11", [false, true]),
        ("9223372036854775807", [true, false]),
        ("9223372036854775808", [false, false]),
        ("11.0", [false, false]),
        ("", [false, false]),
    ] {
        let it = Labels::from_iter([("k", value)]);
        assert_eq!([more.matches(&it), less.matches(&it)], expected, "{value}");
    }
    assert!(!more.matches(&Labels::default()) && !less.matches(&Labels::default()));
    assert_eq!(
        requirement(Operator::GreaterThan, "1.5").unwrap_err().to_string(),
        r#"values[0]: Invalid value: "1.5": for 'Gt', 'Lt' operators, the value must be an integer"#
    );
}

#[test]
fn the_notation_is_upstreams() {
    let it = compiled(
        r#"{"matchLabels":{"z":"1","a":"2"},"matchExpressions":[
            {"key":"m","operator":"In","values":["y","x"]},
            {"key":"n","operator":"NotIn","values":["v"]},
            {"key":"o","operator":"Exists"},
            {"key":"b","operator":"DoesNotExist"}]}"#,
    );
    assert_eq!(it.to_string(), "a=2,!b,m in (x,y),n notin (v),o,z=1");
    assert_eq!(Selector::everything().to_string(), "");
    assert_eq!(Selector::nothing().to_string(), "");
}

#[test]
fn requirements_can_be_added_to_a_selector_but_not_to_nothing() {
    let base = Selector::from_labels(&labels(r#"{"m":"1"}"#));
    let more = Selector::from_labels(&labels(r#"{"a":"2"}"#));
    let both = base.and(more.requirements().unwrap().iter().cloned());
    assert_eq!(both.to_string(), "a=2,m=1");
    assert_eq!(both, Selector::from_labels(&labels(r#"{"a":"2","m":"1"}"#)));
    assert!(Selector::nothing().and(more.requirements().unwrap().to_vec()).is_nothing());
}

#[test]
fn an_unknown_operator_is_named() {
    let text = error(&expression("a", "Bad", "[]"));
    assert_eq!(text, r#""Bad" is not a valid label selector operator"#);
    // Gt and Lt belong to node selectors only.
    let text = error(&expression("a", "Gt", r#"["1"]"#));
    assert_eq!(text, r#""Gt" is not a valid label selector operator"#);
}

#[test]
fn values_must_suit_their_operator() {
    assert_eq!(
        error(&expression("a", "In", "[]")),
        "values: Invalid value: null: for 'in', 'notin' operators, values set can't be empty"
    );
    assert_eq!(
        error(&expression("a", "Exists", r#"["<"]"#)),
        r#"[values: Invalid value: ["\u003c"]: values set must be empty for exists and does not exist, values[0][a]: Invalid value: "<": a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')]"#
    );
}

#[test]
fn keys_and_values_must_be_those_of_labels() {
    let long = "a".repeat(64);
    let name = "must consist of alphanumeric characters, '-', '_' or '.', and must start and end \
                with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex \
                used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
    let subdomain = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric \
                     characters, '-' or '.', and must start and end with an alphanumeric character \
                     (e.g. 'example.com', regex used for validation is \
                     '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
    for (key, why) in [
        ("a b", format!("name part {name}")),
        ("", format!("name part must be non-empty; name part {name}")),
        (&long, "name part must be no more than 63 bytes".to_owned()),
        ("/a", "prefix part must be non-empty".to_owned()),
        ("A/a", format!("prefix part {subdomain}")),
        (
            "a/b/c",
            format!(
                "a valid label key {name} with an optional DNS subdomain prefix and '/' (e.g. \
                 'example.com/MyName')"
            ),
        ),
    ] {
        let expected = format!("key: Invalid value: {}: {why}", quoted(key));
        assert_eq!(error(&expression(key, "Exists", "[]")), expected);
    }
    for good in ["a", "9", "Example_1.x-y", "example.com/My.Name", "x.y-z.0/a"] {
        assert!(selector(&expression(good, "Exists", "[]")).compile().is_ok(), "{good}");
    }
    let text = error(&format!(r#"{{"matchLabels":{{"a":"{long}"}}}}"#));
    assert_eq!(
        text,
        format!(r#"values[0][a]: Invalid value: "{long}": must be no more than 63 bytes"#)
    );
}

#[test]
fn quoting_is_gos() {
    assert_eq!(quoted("a\"\\\n\u{1}\u{7f}ä\u{a0}"), r#""a\"\\\n\x01\x7fä\u00a0""#);
}
