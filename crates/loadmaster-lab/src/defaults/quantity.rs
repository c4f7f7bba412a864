//! Quantities in their canonical form, and exact comparisons between them.
//!
//! The suffix family (decimal, binary, exponent) stays; within it the largest unit that gives a
//! whole number is used. Source: apimachinery `api/resource/quantity.go` 1.36.

use serde_json::Value;

use crate::schema::{self, Kind};

/// Billionths of one: the finest amount that a quantity can hold.
const NANOS: i128 = 1_000_000_000;
/// A resource amount is rounded up to thousandths.
const MILLI_IN_NANOS: i128 = 1_000_000;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Family {
    Decimal,
    Binary,
    Exponent,
}

/// The quantity in canonical form, or `None` where it is not one (validation refuses it then).
///
/// `resource_list` says that it is an amount in a list of resources; such are rounded up to
/// thousandths.
pub fn canonical_quantity(text: &str, resource_list: bool) -> Option<String> {
    let (mut nanos, family) = parse(text)?;
    if resource_list {
        nanos = ceil_to(nanos, MILLI_IN_NANOS);
    }
    Some(match family {
        Family::Binary if nanos.abs() >= 1024 * NANOS => binary_text(ceil_to(nanos, NANOS) / NANOS),
        Family::Binary | Family::Decimal => decimal_text(nanos, false),
        Family::Exponent => decimal_text(nanos, true),
    })
}

/// The quantity in billionths, rounded away from zero; `None` where it is malformed or too large.
pub fn quantity_nanos(quantity: &Value) -> Option<i128> {
    match quantity {
        Value::String(text) => parse(text).map(|(nanos, _)| nanos),
        Value::Number(number) => parse(&number.to_string()).map(|(nanos, _)| nanos),
        _ => None,
    }
}

/// Rewrites every quantity of an object of this kind.
pub(super) fn canonicalise(api_version: &str, kind: &str, object: &mut Value) {
    if let Some(name) = schema::message_name(api_version, kind) {
        walk(&name, object);
    }
}

fn walk(message: &str, value: &mut Value) {
    let (Some(message), Some(members)) = (schema::message(message), value.as_object_mut()) else {
        return;
    };
    for (name, value) in members {
        let Some(field) = message.named(name) else { continue };
        let Kind::Message(inner) = &field.kind else { continue };
        if inner == "Quantity" && field.map {
            for amount in value.as_object_mut().into_iter().flat_map(serde_json::Map::values_mut) {
                rewrite(amount, true);
            }
        } else if inner == "Quantity" {
            rewrite(value, false);
        } else if let Value::Array(items) = value {
            for item in items {
                walk(inner, item);
            }
        } else {
            walk(inner, value);
        }
    }
}

fn rewrite(amount: &mut Value, resource_list: bool) {
    let text = match amount {
        Value::String(text) => text.clone(),
        Value::Number(number) => number.to_string(),
        _ => return,
    };
    if let Some(canonical) = canonical_quantity(&text, resource_list) {
        *amount = Value::String(canonical);
    }
}

fn parse(text: &str) -> Option<(i128, Family)> {
    let digits_end = text
        .char_indices()
        .find(|(index, it)| {
            !(it.is_ascii_digit() || *it == '.' || (*index == 0 && "+-".contains(*it)))
        })
        .map_or(text.len(), |(index, _)| index);
    let (number, suffix) = text.split_at(digits_end);
    let negative = number.starts_with('-');
    let number = number.trim_start_matches(['+', '-']);
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if (whole.is_empty() && fraction.is_empty()) || fraction.contains('.') {
        return None;
    }
    let fraction = fraction.trim_end_matches('0');
    let digits = format!("{whole}{fraction}");
    let mantissa: i128 = if digits.is_empty() { 0 } else { digits.parse().ok()? };
    let (family, factor, exponent) = suffix_of(suffix)?;
    let decimals = exponent.checked_sub(i32::try_from(fraction.len()).ok()?)?.checked_add(9)?;
    let scaled = mantissa.checked_mul(factor)?;
    let nanos = if decimals >= 0 {
        scaled.checked_mul(10_i128.checked_pow(decimals.unsigned_abs())?)?
    } else {
        // Finer than a billionth: rounded up, and never to nothing.
        match 10_i128.checked_pow(decimals.unsigned_abs()) {
            Some(divisor) => ceil_to(scaled, divisor) / divisor,
            None => i128::from(scaled != 0),
        }
    };
    Some((if negative { -nanos } else { nanos }, family))
}

/// A suffix's family, binary factor and power of ten.
fn suffix_of(suffix: &str) -> Option<(Family, i128, i32)> {
    if let Some(exponent) = suffix.strip_prefix(['e', 'E']).filter(|rest| !rest.is_empty()) {
        return Some((Family::Exponent, 1, exponent.parse().ok()?));
    }
    if let Some(index) = ["Ki", "Mi", "Gi", "Ti", "Pi", "Ei"].iter().position(|it| *it == suffix) {
        let power = u32::try_from(index + 1).ok()?;
        return Some((Family::Binary, 1024_i128.checked_pow(power)?, 0));
    }
    DECIMAL.iter().find(|(_, it)| *it == suffix).map(|(power, _)| (Family::Decimal, 1, *power))
}

const DECIMAL: [(i32, &str); 10] = [
    (18, "E"),
    (15, "P"),
    (12, "T"),
    (9, "G"),
    (6, "M"),
    (3, "k"),
    (0, ""),
    (-3, "m"),
    (-6, "u"),
    (-9, "n"),
];

/// Rounds away from zero to a multiple of `step`.
fn ceil_to(amount: i128, step: i128) -> i128 {
    let rest = amount % step;
    if rest == 0 { amount } else { amount - rest + step * amount.signum() }
}

fn decimal_text(nanos: i128, exponent: bool) -> String {
    if nanos == 0 {
        return "0".to_owned();
    }
    for (power, suffix) in DECIMAL {
        let unit = 10_i128.pow((power + 9).unsigned_abs());
        if nanos % unit == 0 {
            let count = nanos / unit;
            return match (exponent, power) {
                (false, _) => format!("{count}{suffix}"),
                (true, 0) => count.to_string(),
                (true, _) => format!("{count}e{power}"),
            };
        }
    }
    nanos.to_string()
}

fn binary_text(mut amount: i128) -> String {
    for suffix in ["", "Ki", "Mi", "Gi", "Ti", "Pi"] {
        if amount % 1024 != 0 {
            return format!("{amount}{suffix}");
        }
        amount /= 1024;
    }
    format!("{amount}Ei")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// What kube-apiserver 1.36 stored for these container requests.
    #[test]
    fn amounts_are_written_as_the_api_server_writes_them() {
        let cases = [
            ("0.5", "500m"),
            ("1000m", "1"),
            ("1.5", "1500m"),
            ("0.0001", "1m"),
            ("1024Mi", "1Gi"),
            ("0.5Gi", "512Mi"),
            ("1.5Gi", "1536Mi"),
            ("1k", "1k"),
            ("2e3", "2e3"),
            ("1e9", "1e9"),
            ("129e6", "129e6"),
            ("1000Mi", "1000Mi"),
            ("1500M", "1500M"),
            ("128974848", "128974848"),
            ("1024", "1024"),
        ];
        for (written, stored) in cases {
            assert_eq!(canonical_quantity(written, true).as_deref(), Some(stored), "{written}");
        }
    }

    #[test]
    fn extremes_and_signs_keep_their_meaning() {
        assert_eq!(canonical_quantity("0", true).as_deref(), Some("0"));
        assert_eq!(canonical_quantity("50E", true).as_deref(), Some("50E"));
        assert_eq!(canonical_quantity("-1500m", true).as_deref(), Some("-1500m"));
        assert_eq!(canonical_quantity("0.5Ki", true).as_deref(), Some("512"));
        assert_eq!(canonical_quantity("1e-100000000", false).as_deref(), Some("1e-9"));
    }

    #[test]
    fn what_is_no_quantity_stays_for_validation() {
        for text in ["", "x", "1.2.3", "1Kb", "--1", "1e", "e3", "."] {
            assert_eq!(canonical_quantity(text, true), None, "{text}");
        }
    }

    #[test]
    fn quantities_are_found_by_the_schema_and_may_be_numbers() {
        let mut pod = json!({"spec": {"overhead": {"cpu": "1000m"},
            "containers": [{"resources": {"limits": {"cpu": 2, "memory": "1024Mi"}}}],
            "nodeSelector": {"x": "1000m"}}});
        canonicalise("v1", "Pod", &mut pod);
        assert_eq!(
            pod,
            json!({"spec": {"overhead": {"cpu": "1"},
                "containers": [{"resources": {"limits": {"cpu": "2", "memory": "1Gi"}}}],
                "nodeSelector": {"x": "1000m"}}})
        );
    }
}
