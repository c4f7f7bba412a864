use super::*;

/// As cargo 1.95 prints it: the second `itoa` was listed before.
const TREE: &str = "0\tscheduler v0.1.0 (/src/scheduler)\tApache-2.0
1\tserde_json v1.0.1\tMIT OR Apache-2.0
2\titoa v1.0.2\tMIT/Apache-2.0
1\ttoml v1.2.2+spec-1.1.0\tMIT
2\titoa v1.0.2\tMIT/Apache-2.0 (*)
";

const LOCK: &str = r#"
version = 4
[[package]]
name = "itoa"
version = "1.0.2"
checksum = "aa"
[[package]]
name = "itoa"
version = "0.4.8"
checksum = "bb"
[[package]]
name = "scheduler"
version = "0.1.0"
"#;

#[test]
fn crates_are_listed_once_with_their_licence_checksum_and_what_they_need() {
    let bill = Bill::parse(TREE, LOCK).unwrap();
    assert_eq!(bill.len(), 3);
    let document = bill.document("scheduler", "2026-01-02T03:04:05Z");
    assert_eq!(document["metadata"]["component"]["purl"], "pkg:cargo/scheduler@0.1.0");
    let names: Vec<_> =
        document["components"].as_array().unwrap().iter().map(|it| &it["name"]).collect();
    assert_eq!(names, ["itoa", "serde_json", "toml"]);
    let itoa = &document["components"][0];
    assert_eq!(itoa["hashes"][0]["content"], "aa");
    assert_eq!(itoa["licenses"][0]["expression"], "MIT OR Apache-2.0");
    assert_eq!(document["components"][2]["purl"], "pkg:cargo/toml@1.2.2%2Bspec-1.1.0");
    let own = &document["dependencies"][0];
    assert_eq!(
        own["dependsOn"],
        json!(["pkg:cargo/serde_json@1.0.1", "pkg:cargo/toml@1.2.2%2Bspec-1.1.0"])
    );
    let toml = document["dependencies"].as_array().unwrap().last().unwrap();
    assert_eq!(toml["dependsOn"], json!(["pkg:cargo/itoa@1.0.2"]));
}

#[test]
fn what_cargo_would_not_say_is_refused() {
    for (tree, told) in [
        ("", "names no package"),
        ("x\ta v1\tMIT", "not understood"),
        ("0\ta 1\tMIT", "not understood"),
        ("1\ta v1\tMIT", "not understood"),
    ] {
        let error = Bill::parse(tree, LOCK).unwrap_err().to_string();
        assert!(error.contains(told), "{tree}: {error}");
    }
}
