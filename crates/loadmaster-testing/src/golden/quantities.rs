//! Family 13: quantities.

use loadmaster_framework::api::Quantity;
use serde::{Deserialize, Serialize};

use super::{Difference, differences};

/// A text that is parsed, or two quantities.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Case {
    One(One),
    Two(Two),
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct One {
    #[serde(rename = "id")]
    _id: String,
    input: String,
    ok: bool,
    error: Option<String>,
    value: Option<i64>,
    milli_value: Option<i64>,
    sign: Option<i32>,
    canonical: Option<String>,
    recomputed: Option<String>,
    #[serde(default, rename = "saturated")]
    _saturated: bool,
    #[serde(default)]
    value_out_of_range: bool,
    #[serde(default)]
    milli_value_out_of_range: bool,
    json: Option<InJson>,
}

#[derive(Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct InJson {
    ok: bool,
    canonical: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Two {
    #[serde(rename = "id")]
    _id: String,
    a: Quantity,
    b: Quantity,
    cmp: i32,
    sum: String,
    difference: String,
}

/// What is compared of a text. What is out of 64 bits carries no meaning and is left out.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Parsed {
    ok: bool,
    error: Option<String>,
    value: Option<i64>,
    milli_value: Option<i64>,
    sign: Option<i32>,
    canonical: Option<String>,
    json: Option<InJson>,
}

#[derive(Debug, Serialize)]
struct Combined {
    cmp: i32,
    sum: String,
    difference: String,
}

pub(super) fn check(line: &str) -> serde_json::Result<Vec<Difference>> {
    Ok(match serde_json::from_str(line)? {
        Case::One(case) => check_one(case),
        Case::Two(case) => {
            let actual = Combined {
                cmp: case.a.cmp(&case.b) as i32,
                sum: (&case.a + &case.b).to_string(),
                difference: (&case.a - &case.b).to_string(),
            };
            let expected = Combined { cmp: case.cmp, sum: case.sum, difference: case.difference };
            differences(&expected, &actual)
        }
    })
}

fn check_one(case: One) -> Vec<Difference> {
    let parsed = Quantity::parse(&case.input);
    let quantity = parsed.as_ref().ok();
    let actual = Parsed {
        ok: parsed.is_ok(),
        error: parsed.as_ref().err().map(ToString::to_string),
        value: quantity.filter(|_| !case.value_out_of_range).map(Quantity::value),
        milli_value: quantity.filter(|_| !case.milli_value_out_of_range).map(Quantity::milli_value),
        sign: quantity.map(Quantity::sign),
        canonical: quantity.map(ToString::to_string),
        json: case.json.as_ref().map(|_| in_json(&case.input)),
    };
    let expected = Parsed {
        ok: case.ok,
        error: case.error,
        value: case.value.filter(|_| !case.value_out_of_range),
        milli_value: case.milli_value.filter(|_| !case.milli_value_out_of_range),
        sign: case.sign,
        // The canonical form as it is after arithmetic: we do not keep the text as it was written.
        canonical: case.recomputed.or(case.canonical),
        json: case.json.map(|it| InJson { canonical: it.canonical.map(retold), ..it }),
    };
    differences(&expected, &actual)
}

/// The canonical form of a text, where it was recorded as it was written.
fn retold(text: String) -> String {
    Quantity::parse(&text).map_or(text, |it| it.to_string())
}

fn in_json(text: &str) -> InJson {
    let read: Result<Quantity, _> = serde_json::from_value(text.into());
    InJson { ok: read.is_ok(), canonical: read.ok().map(|it| it.to_string()) }
}
