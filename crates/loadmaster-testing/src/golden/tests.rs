//! Nothing that is recorded is skipped: a case passes only as it is.

use serde_json::{Value, json};

use super::{check_of, default_dir, read};

/// Pointers to every text, number and truth value in `value`.
fn leaves(value: &Value, at: &str, found: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            for (key, it) in fields {
                let key = key.replace('~', "~0").replace('/', "~1");
                leaves(it, &format!("{at}/{key}"), found);
            }
        }
        Value::Array(list) => {
            for (index, it) in list.iter().enumerate() {
                leaves(it, &format!("{at}/{index}"), found);
            }
        }
        Value::Null => {}
        _ => found.push(at.to_owned()),
    }
}

fn other(value: &Value) -> Value {
    match value {
        Value::String(it) => json!(format!("{it}x")),
        Value::Number(it) => json!(it.as_i64().unwrap_or(0).wrapping_add(7)),
        Value::Bool(it) => json!(!it),
        _ => Value::Null,
    }
}

/// The recorded parts of a case of `family`.
fn recorded(family: &str) -> &'static [&'static str] {
    match family.split_once('-').map_or(family, |(_, subject)| subject) {
        "quantities" => &["/ok", "/value", "/milliValue", "/sign", "/canonical", "/cmp"],
        "config" => &["/accepted", "/stage", "/effective"],
        "hints" => &["/events", "/hint", "/emittedEvents"],
        "sampling" => &["/count", "/steps/3/snapshot"],
        "sequences" => &["/steps/2/queued", "/steps/2/attempts", "/steps/2/after"],
        _ => &["/expected"],
    }
}

#[test]
fn every_part_of_a_recording_makes_its_case_fail_when_it_is_changed() {
    const CASES: usize = 2;
    const LEAVES: usize = 20;
    for file in read::files(&default_dir(), None).unwrap() {
        let family = read::family(&file).to_owned();
        let check = check_of(&family);
        let text = read::text(&file).unwrap();
        let passes = |line: &&str| check(line).unwrap().is_empty();
        // Cases from all over the file, of those that pass.
        let spread = text.lines().step_by(text.lines().count() / 7 + 1).filter(passes).take(CASES);
        let mut changed = 0;
        for line in spread {
            let case: Value = serde_json::from_str(line).unwrap();
            let mut found = Vec::new();
            for part in recorded(&family) {
                // What is beyond 64 bits carries no meaning.
                if case.pointer(&format!("{part}OutOfRange")) == Some(&json!(true)) {
                    continue;
                }
                if let Some(it) = case.pointer(part) {
                    leaves(it, part, &mut found);
                }
            }
            for pointer in found.iter().step_by(found.len() / LEAVES + 1) {
                let mut tampered = case.clone();
                let leaf = tampered.pointer_mut(pointer).unwrap();
                *leaf = other(leaf);
                // A plugin's 0 is the same as none; a change that cannot be read is noticed too.
                let noticed = check(&tampered.to_string()).map_or(true, |it| !it.is_empty());
                assert!(noticed, "{family} {} {pointer}", case["id"]);
                changed += 1;
            }
        }
        assert!(changed > 0, "{family}");
    }
}
