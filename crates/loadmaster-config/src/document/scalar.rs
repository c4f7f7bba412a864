//! What an unquoted YAML scalar means to Go's YAML reader, which follows YAML 1.1 with its own
//! additions: `yes` and `off` are booleans, `0x3`, `03`, `3_0` and `0b11` are integers.
//!
//! Source: `go.yaml.in/yaml/v2/resolve.go`, and `encoding/json` for how a float prints.

use super::Kind;

/// A tag that changes how a scalar is read; other tags leave it a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tag {
    Text,
    Bool,
    Int,
    Float,
    Null,
}

/// The value of a scalar: untagged and unquoted, or with a tag. `None` when it does not fit the tag,
/// or is a number that JSON cannot hold.
pub(super) fn resolve(text: &str, tag: Option<Tag>) -> Option<Kind> {
    let kind = match tag {
        Some(Tag::Text) => Kind::Text(text.to_owned()),
        _ => plain(text),
    };
    match (tag, kind) {
        (_, Kind::Float(it)) if !it.is_finite() => None,
        (None | Some(Tag::Text), kind)
        | (Some(Tag::Bool), kind @ Kind::Bool(_))
        | (Some(Tag::Null), kind @ Kind::Null)
        | (Some(Tag::Float), kind @ (Kind::Float(_) | Kind::Int(_))) => Some(whole(kind)),
        (Some(Tag::Int), kind @ (Kind::Int(_) | Kind::Uint(_))) => Some(kind),
        _ => None,
    }
}

/// A float without a fraction becomes an integer, since on the way through JSON it prints as one.
#[expect(clippy::cast_possible_truncation, reason = "the range is checked")]
fn whole(kind: Kind) -> Kind {
    const EDGE: f64 = 9_223_372_036_854_775_808.0; // 2^63
    match kind {
        Kind::Float(it) if it.fract() == 0.0 && (-EDGE..EDGE).contains(&it) => Kind::Int(it as i64),
        other => other,
    }
}

fn plain(text: &str) -> Kind {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => return Kind::Null,
        "y" | "Y" | "yes" | "Yes" | "YES" | "true" | "True" | "TRUE" | "on" | "On" | "ON" => {
            return Kind::Bool(true);
        }
        "n" | "N" | "no" | "No" | "NO" | "false" | "False" | "FALSE" | "off" | "Off" | "OFF" => {
            return Kind::Bool(false);
        }
        ".nan" | ".NaN" | ".NAN" => return Kind::Float(f64::NAN),
        ".inf" | ".Inf" | ".INF" | "+.inf" | "+.Inf" | "+.INF" => {
            return Kind::Float(f64::INFINITY);
        }
        "-.inf" | "-.Inf" | "-.INF" => return Kind::Float(f64::NEG_INFINITY),
        _ => {}
    }
    let number = match text.as_bytes().first() {
        Some(b'.') => float(text),
        Some(b'0'..=b'9' | b'+' | b'-') => {
            let digits = text.replace('_', "");
            integer(&digits).or_else(|| float(&digits))
        }
        _ => None,
    };
    number.unwrap_or_else(|| Kind::Text(text.to_owned()))
}

/// An integer with an optional sign and one of Go's prefixes.
fn integer(text: &str) -> Option<Kind> {
    let (negative, body) = match text.as_bytes().first()? {
        b'-' => (true, &text[1..]),
        b'+' => (false, &text[1..]),
        _ => (false, text),
    };
    let (radix, digits) = match body.as_bytes() {
        [b'0', b'x' | b'X', ..] => (16, &body[2..]),
        [b'0', b'b' | b'B', ..] => (2, &body[2..]),
        [b'0', b'o' | b'O', ..] => (8, &body[2..]),
        [b'0', _, ..] => (8, &body[1..]),
        _ => (10, body),
    };
    // `from_str_radix` would take a sign of its own.
    if !digits.starts_with(|it: char| it.is_ascii_alphanumeric()) {
        return None;
    }
    let amount = u64::from_str_radix(digits, radix).ok()?;
    if negative {
        (amount <= 1 << 63).then(|| Kind::Int(0i64.wrapping_sub_unsigned(amount)))
    } else if let Ok(it) = i64::try_from(amount) {
        Some(Kind::Int(it))
    } else {
        // Go reads an amount above 2^63 as an unsigned number, which may not carry a sign.
        (body.len() == text.len()).then_some(Kind::Uint(amount))
    }
}

/// A decimal with a point or an exponent; one out of range stays a text.
fn float(text: &str) -> Option<Kind> {
    let shape = |it: u8| it.is_ascii_digit() || matches!(it, b'+' | b'-' | b'.' | b'e' | b'E');
    if !text.bytes().all(shape) {
        return None;
    }
    text.parse().ok().filter(|it: &f64| it.is_finite()).map(Kind::Float)
}
