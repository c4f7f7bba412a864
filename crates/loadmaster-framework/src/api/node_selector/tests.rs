use super::*;

fn selector(json: &str) -> NodeSelector {
    serde_json::from_str(json).unwrap()
}

/// A selector of one term.
fn term(json: &str) -> NodeSelector {
    selector(&format!(r#"{{"nodeSelectorTerms":[{json}]}}"#))
}

fn expression(key: &str, operator: &str, values: &str) -> String {
    format!(r#"{{"key":"{key}","operator":"{operator}","values":{values}}}"#)
}

fn labels(pairs: &[(&str, &str)]) -> Labels {
    pairs.iter().copied().collect()
}

fn matches(selector: &NodeSelector, pairs: &[(&str, &str)], name: &str) -> bool {
    selector.compile().matches(&labels(pairs), name).unwrap()
}

#[test]
fn no_terms_and_empty_terms_match_no_node() {
    for json in ["{}", r#"{"nodeSelectorTerms":null}"#, r#"{"nodeSelectorTerms":[]}"#] {
        assert!(!matches(&selector(json), &[], "n"), "{json}");
    }
    assert!(!matches(&term("{}"), &[], "n"));
    assert!(!matches(&term(r#"{"matchExpressions":[],"matchFields":null}"#), &[], "n"));
}

#[test]
fn one_term_is_enough_and_all_of_its_requirements_must_hold() {
    let zone_a = expression("zone", "In", r#"["a"]"#);
    let ssd = expression("disk", "Exists", "[]");
    let named = expression("metadata.name", "In", r#"["n1"]"#);
    let both = format!(r#"{{"matchExpressions":[{zone_a},{ssd}]}}"#);
    let mixed = format!(r#"{{"matchExpressions":[{zone_a}],"matchFields":[{named}]}}"#);
    let either = selector(&format!(r#"{{"nodeSelectorTerms":[{both},{mixed}]}}"#));
    assert!(matches(&either, &[("zone", "a"), ("disk", "ssd")], "n9"));
    assert!(matches(&either, &[("zone", "a")], "n1"));
    assert!(!matches(&either, &[("zone", "a")], "n9"));
    assert!(!matches(&either, &[("disk", "ssd")], "n1"));
}

#[test]
fn labels_are_compared_as_integers_by_gt_and_lt() {
    let more =
        term(&format!(r#"{{"matchExpressions":[{}]}}"#, expression("cores", "Gt", r#"["8"]"#)));
    let less =
        term(&format!(r#"{{"matchExpressions":[{}]}}"#, expression("cores", "Lt", r#"["8"]"#)));
    for (cores, expected) in [("9", [true, false]), ("8", [false, false]), ("7", [false, true])] {
        let node = [("cores", cores)];
        assert_eq!([matches(&more, &node, "n"), matches(&less, &node, "n")], expected, "{cores}");
    }
    assert!(!matches(&more, &[], "n") && !matches(&less, &[("cores", "few")], "n"));
}

#[test]
fn fields_are_the_name_alone_and_others_are_empty() {
    let fields = |it: &str| term(&format!(r#"{{"matchFields":[{it}]}}"#));
    let not_n1 = fields(&expression("metadata.name", "NotIn", r#"["n1"]"#));
    assert!(!matches(&not_n1, &[], "n1") && matches(&not_n1, &[], "n2"));
    let other = fields(&expression("spec.unschedulable", "In", r#"["true"]"#));
    assert!(!matches(&other, &[], "n1"));
    let not_other = fields(&expression("spec.unschedulable", "NotIn", r#"["true"]"#));
    assert!(matches(&not_other, &[], "n1"));
}

#[test]
fn errors_of_a_term_are_told_only_when_no_other_term_matches() {
    let bad = format!(r#"{{"matchExpressions":[{}]}}"#, expression("a", "Bad", "[]"));
    let good = format!(r#"{{"matchExpressions":[{}]}}"#, expression("b", "Exists", "[]"));
    let it = selector(&format!(r#"{{"nodeSelectorTerms":[{bad},{good}]}}"#));
    assert!(matches(&it, &[("b", "")], "n"));
    let text = r#"nodeSelectorTerms[0].matchExpressions[0].operator: Unsupported value: "Bad": supported values: "In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt""#;
    let error = it.compile().matches(&labels(&[]), "n").unwrap_err();
    assert_eq!(error.to_string(), text);
    let error = it.compile_strict("spec.required").unwrap_err();
    assert_eq!(error.to_string(), format!("spec.required.{text}"));
}

#[test]
fn all_errors_of_all_terms_are_told_together() {
    let it = selector(&format!(
        r#"{{"nodeSelectorTerms":[{{"matchFields":[{},{}]}},{{"matchExpressions":[{}]}}]}}"#,
        expression("metadata.name", "Exists", "[]"),
        expression("metadata.name", "In", r#"["a","b"]"#),
        expression("k", "In", "[]"),
    ));
    assert_eq!(
        it.compile_strict("").unwrap_err().to_string(),
        r#"[nodeSelectorTerms[0].matchFields[0].operator: Unsupported value: "Exists": supported values: "In", "NotIn", nodeSelectorTerms[0].matchFields[1].values: Invalid value: ["a","b"]: must have one element, nodeSelectorTerms[1].matchExpressions[0].values: Invalid value: null: for 'in', 'notin' operators, values set can't be empty]"#
    );
}

#[test]
fn preferred_terms_add_their_weights_and_skip_empty_ones() {
    let terms: Vec<PreferredSchedulingTerm> = serde_json::from_str(&format!(
        r#"[{{"weight":5,"preference":{{"matchExpressions":[{a}]}}}},
            {{"weight":7,"preference":{{"matchExpressions":[{b}]}}}},
            {{"weight":50,"preference":{{}}}},
            {{"weight":0,"preference":{{"matchExpressions":[{bad}]}}}}]"#,
        a = expression("a", "Exists", "[]"),
        b = expression("b", "DoesNotExist", "[]"),
        bad = expression("b", "Bad", "[]"),
    ))
    .unwrap();
    let compiled = CompiledPreferredTerms::new(&terms, "").unwrap();
    assert_eq!(compiled.score(&labels(&[("a", "")]), "n"), 12);
    assert_eq!(compiled.score(&labels(&[("a", ""), ("b", "")]), "n"), 5);
    assert_eq!(compiled.score(&labels(&[("b", "")]), "n"), 0);
    assert!(CompiledPreferredTerms::new(&terms[2..], "").unwrap().is_empty());
}

#[test]
fn a_preferred_term_that_cannot_be_understood_is_an_error() {
    let terms = [PreferredSchedulingTerm {
        weight: 1,
        preference: term(&format!(
            r#"{{"matchExpressions":[{}]}}"#,
            expression("a", "Gt", r#"["x"]"#)
        ))
        .node_selector_terms
        .remove(0),
    }];
    assert_eq!(
        CompiledPreferredTerms::new(&terms, "").unwrap_err().to_string(),
        r#"[0].matchExpressions[0].values[0]: Invalid value: "x": for 'Gt', 'Lt' operators, the value must be an integer"#
    );
}

#[test]
fn node_selector_and_required_affinity_must_both_hold() {
    let affinity =
        term(&format!(r#"{{"matchExpressions":[{}]}}"#, expression("b", "Exists", "[]")));
    let both = RequiredNodeAffinity::new(&labels(&[("a", "1")]), Some(&affinity));
    let ask = |it: &RequiredNodeAffinity, pairs: &[(&str, &str)]| {
        it.matches(&labels(pairs), "n").unwrap()
    };
    assert!(ask(&both, &[("a", "1"), ("b", "")]));
    assert!(!ask(&both, &[("a", "1")]));
    assert!(!ask(&both, &[("b", "")]));
    assert!(ask(&RequiredNodeAffinity::new(&Labels::default(), None), &[]));
    let empty = NodeSelector::default();
    assert!(!ask(&RequiredNodeAffinity::new(&Labels::default(), Some(&empty)), &[]));
}
