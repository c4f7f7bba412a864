//! The gate: it passes, and it would notice.

use std::process::{Command, Output};

fn gate(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_gate")).args(args).output().unwrap()
}

#[test]
fn the_plugins_of_the_course_pass() {
    let output = gate(&[]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{text}");
    assert!(text.starts_with("ok      more matching pods score higher\n"), "{text}");
    assert!(text.ends_with("6 of 6 checks passed\n"), "{text}");
}

#[test]
fn every_broken_variant_is_caught_by_its_own_check() {
    let output = gate(&["--break", "--output", "json"]);
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(output.status.success(), "{json}");
    let failures: Vec<_> =
        json["checks"].as_array().unwrap().iter().map(|it| &it["failure"]).collect();
    assert_eq!(
        failures,
        [
            "nodes with 3, 1 and 0 matching pods must score in that order, but scored 0, 66 and 100",
            "Concentrate must score n1 100, n2 33, n3 0, but scored n1 3, n2 1, n3 0",
            "the cycle must not fail, but did: running Normalize on Score plugins: plugin \
             \"Concentrate\" failed with: attempt to divide by zero",
            "Concentrate must score n1 100, n2 0, n3 0, but scored n1 50, n2 100, n3 0",
            "n2 drains its cache and must be refused for it, but its reasons are []",
            "CacheLocality must score n1 0, n2 0, n3 0, but scored n1 0, n2 100, n3 100",
        ]
    );
}
