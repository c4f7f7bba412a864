//! Recorded decisions: all are equal or deviate by a rule, and the command fails where one is not.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
    process::{Command, Output},
};

use loadmaster_testing::golden::{self, Filter};

#[test]
fn every_recorded_decision_is_equal_or_deviates_by_a_rule() {
    let report = golden::run(&golden::default_dir(), &Filter::default()).unwrap();
    assert!(!report.failed(), "{report}");
}

#[test]
fn every_rule_is_explained_in_the_manual_and_no_other_is() {
    let manual = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/deviations.md");
    let manual = fs::read_to_string(manual).unwrap();
    let headings = manual.lines().filter_map(|it| it.strip_prefix("### `")?.strip_suffix('`'));
    let rules = golden::RULES.iter().map(|it| it.name);
    assert_eq!(headings.collect::<BTreeSet<_>>(), rules.collect::<BTreeSet<_>>());
}

/// A folder with one file of cases: the first of `family`, with `from` replaced by `to`.
fn folder(name: &str, family: &str, from: &str, to: &str) -> PathBuf {
    let packed = golden::default_dir().join(family).with_extension("jsonl.zst");
    let cases = zstd::decode_all(&*fs::read(packed).unwrap()).unwrap();
    let cases = String::from_utf8(cases).unwrap();
    let case = cases.lines().find(|it| it.contains(from)).unwrap();
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    fs::create_dir_all(&dir).unwrap();
    let file = dir.join(family).with_extension("jsonl");
    fs::write(file, case.replacen(from, to, 1)).unwrap();
    dir
}

fn command(dir: &Path, args: &[&str]) -> Output {
    let golden =
        Command::new(env!("CARGO_BIN_EXE_golden")).arg("--dir").arg(dir).args(args).output();
    golden.unwrap()
}

fn stdout(output: &Output) -> &str {
    std::str::from_utf8(&output.stdout).unwrap()
}

fn stderr(output: &Output) -> &str {
    std::str::from_utf8(&output.stderr).unwrap()
}

#[test]
fn a_tampered_expectation_makes_the_command_fail_and_tells_the_difference() {
    let (family, score) = ("02-taints", r#""TaintToleration":300"#);
    let honest = command(&folder("honest", family, score, score), &[]);
    assert_eq!((honest.status.code(), stdout(&honest)), (Some(0), "02-taints 1/1\n"));
    let tampered = command(&folder("tampered", family, score, r#""TaintToleration":299"#), &[]);
    assert_eq!(tampered.status.code(), Some(1));
    assert!(stdout(&tampered).starts_with("02-taints 0/1\n"), "{}", stdout(&tampered));
    let difference = "plugins.TaintToleration: expected 299, got 300";
    assert!(stdout(&tampered).contains(difference), "{}", stdout(&tampered));
}

#[test]
fn an_expectation_of_an_unknown_kind_is_not_skipped() {
    let (from, to) = (r#""feasible":"#, r#""permit":[],"feasible":"#);
    let unknown = command(&folder("unknown-field", "02-taints", from, to), &[]);
    assert_eq!(unknown.status.code(), Some(1));
    assert!(stdout(&unknown).contains("unknown field `permit`"), "{}", stdout(&unknown));
}

#[test]
fn what_is_not_there_is_a_mistake_of_the_user_and_not_a_pass() {
    let dir = folder("one", "17-sampling", "count", "count");
    let family = command(&dir, &["--family", "18"]);
    assert_eq!(family.status.code(), Some(2));
    assert!(stderr(&family).contains("there are 17-sampling"), "{}", stderr(&family));
    let case = command(&dir, &["--case", "sampling-p9999"]);
    assert_eq!(case.status.code(), Some(2));
    assert!(stderr(&case).contains("no case has the id"), "{}", stderr(&case));
    let nowhere = command(&dir.join("nowhere"), &[]);
    assert_eq!(nowhere.status.code(), Some(2));
    assert!(stderr(&nowhere).contains("cannot read"), "{}", stderr(&nowhere));
}

#[test]
fn json_output_has_a_version_and_every_case() {
    let dir = folder("json", "17-sampling", "count", "count");
    let output = command(&dir, &["--output", "json"]);
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(json["version"], 1);
    let family = &json["report"]["families"][0];
    assert_eq!(family["name"], "17-sampling");
    assert_eq!(family["cases"], serde_json::json!([{"id": "sampling-p0001", "verdict": "passed"}]));
}
