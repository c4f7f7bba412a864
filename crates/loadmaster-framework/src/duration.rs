//! Durations in Go's notation, which is what configuration files hold (`1h30m`, `1500ms`).
//!
//! Reading and printing are exact: the same texts are accepted and refused, and what is printed is
//! what `kube-scheduler` prints. Source: Go's `time.ParseDuration` and `Duration.String`.

use std::{fmt, str::FromStr, time::Duration};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A signed amount of nanoseconds, read and printed in Go's notation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GoDuration(i64);

/// A text that is no duration.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("invalid duration {0:?}: write a number with a unit, as in 300ms, 15s or 1h30m")]
pub struct DurationError(String);

impl GoDuration {
    /// Nothing.
    pub const ZERO: Self = Self(0);

    /// That many seconds.
    pub const fn from_secs(seconds: i64) -> Self {
        Self(seconds.saturating_mul(SECOND.cast_signed()))
    }

    /// The amount in nanoseconds.
    pub const fn nanos(self) -> i64 {
        self.0
    }

    /// The amount of a standard duration; one beyond 292 years is cut to that.
    pub fn from_std(duration: Duration) -> Self {
        Self(i64::try_from(duration.as_nanos()).unwrap_or(i64::MAX))
    }

    /// The amount for use with the standard library; what is negative becomes zero.
    pub fn to_std(self) -> Duration {
        Duration::from_nanos(u64::try_from(self.0).unwrap_or(0))
    }
}

impl FromStr for GoDuration {
    type Err = DurationError;

    fn from_str(text: &str) -> Result<Self, DurationError> {
        parse(text).map(Self).ok_or_else(|| DurationError(text.to_owned()))
    }
}

/// Reads a duration; `None` for anything that Go refuses, including what does not fit in 64 bits.
fn parse(text: &str) -> Option<i64> {
    let (negative, mut rest) = match text.as_bytes().first()? {
        b'-' => (true, &text[1..]),
        b'+' => (false, &text[1..]),
        _ => (false, text),
    };
    if rest == "0" {
        return Some(0);
    }
    if rest.is_empty() {
        return None;
    }
    let mut total: u64 = 0;
    while !rest.is_empty() {
        let (amount, after) = one_part(rest)?;
        total = total.checked_add(amount).filter(|&it| it <= LIMIT)?;
        rest = after;
    }
    if negative {
        // 2^63 nanoseconds exist below zero only.
        return Some(0i64.wrapping_sub_unsigned(total));
    }
    i64::try_from(total).ok()
}

/// Reads one number and its unit; gives the nanoseconds and what follows.
fn one_part(text: &str) -> Option<(u64, &str)> {
    let digits = |it: &str| it.bytes().take_while(u8::is_ascii_digit).count();
    let (whole, mut rest) = text.split_at(digits(text));
    let mut fraction = "";
    if let Some(after) = rest.strip_prefix('.') {
        (fraction, rest) = after.split_at(digits(after));
    }
    if whole.is_empty() && fraction.is_empty() {
        return None;
    }
    let end = rest.find(|it: char| it == '.' || it.is_ascii_digit()).unwrap_or(rest.len());
    let (unit, rest) = rest.split_at(end);
    let unit = unit_nanos(unit)?;
    let whole: u64 = if whole.is_empty() { 0 } else { whole.parse().ok()? };
    let mut nanos = whole.checked_mul(unit).filter(|&it| whole <= LIMIT && it <= LIMIT)?;
    nanos = nanos.checked_add(fraction_nanos(fraction, unit)).filter(|&it| it <= LIMIT)?;
    Some((nanos, rest))
}

/// The nanoseconds in `0.FRACTION` of a unit, cut to whole ones, in floating point as Go does.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "0.x of a unit is below 3.6e12"
)]
fn fraction_nanos(fraction: &str, unit: u64) -> u64 {
    let (mut digits, mut scale) = (0u64, 1f64);
    for byte in fraction.bytes() {
        let Some(more) = digits
            .checked_mul(10)
            .and_then(|it| it.checked_add(u64::from(byte - b'0')))
            .filter(|&it| it < LIMIT)
        else {
            break; // finer than 64 bits can tell
        };
        digits = more;
        scale *= 10.0;
    }
    (digits as f64 * (unit as f64 / scale)) as u64
}

fn unit_nanos(unit: &str) -> Option<u64> {
    Some(match unit {
        "ns" => 1,
        "us" | "µs" | "μs" => MICRO,
        "ms" => MILLI,
        "s" => SECOND,
        "m" => MINUTE,
        "h" => HOUR,
        _ => return None,
    })
}

const MICRO: u64 = 1_000;
const MILLI: u64 = 1_000_000;
const SECOND: u64 = 1_000_000_000;
const MINUTE: u64 = 60 * SECOND;
const HOUR: u64 = 60 * MINUTE;
/// 2^63, the largest magnitude on the way.
const LIMIT: u64 = 1 << 63;

impl fmt::Display for GoDuration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 < 0 {
            f.write_str("-")?;
        }
        let nanos = self.0.unsigned_abs();
        match nanos {
            0 => f.write_str("0s"),
            1..MICRO => write!(f, "{nanos}ns"),
            MICRO..MILLI => decimal(f, nanos, MICRO, "µs"),
            MILLI..SECOND => decimal(f, nanos, MILLI, "ms"),
            _ => {
                let (hours, minutes) = (nanos / HOUR, nanos / MINUTE % 60);
                if hours > 0 {
                    write!(f, "{hours}h")?;
                }
                if hours > 0 || minutes > 0 {
                    write!(f, "{minutes}m")?;
                }
                decimal(f, nanos % MINUTE, SECOND, "s")
            }
        }
    }
}

/// Writes `nanos` in `unit`s with as many decimals as it needs.
fn decimal(f: &mut fmt::Formatter<'_>, nanos: u64, unit: u64, name: &str) -> fmt::Result {
    let (whole, part) = (nanos / unit, nanos % unit);
    if part == 0 {
        return write!(f, "{whole}{name}");
    }
    let width = unit.ilog10() as usize;
    let digits = format!("{part:0width$}");
    write!(f, "{whole}.{}{name}", digits.trim_end_matches('0'))
}

impl Serialize for GoDuration {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for GoDuration {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Texts and their printed forms, worked out with Go's documentation.
    #[test]
    fn texts_are_read_and_printed_as_go_does() {
        for (text, printed) in [
            ("0", "0s"),
            ("15s", "15s"),
            ("-1m29s", "-1m29s"),
            ("90m", "1h30m0s"),
            ("600s", "10m0s"),
            ("1500ms", "1.5s"),
            ("1.5h", "1h30m0s"),
            (".5s", "500ms"),
            ("1.s", "1s"),
            ("+5m", "5m0s"),
            ("1h1ns", "1h0m0.000000001s"),
            ("2us", "2µs"),
            ("1100µs", "1.1ms"),
            ("15ns", "15ns"),
            ("9223372036854775807ns", "2562047h47m16.854775807s"),
            ("-9223372036854775808ns", "-2562047h47m16.854775808s"),
        ] {
            let read: GoDuration = text.parse().unwrap();
            assert_eq!(read.to_string(), printed, "{text}");
            assert_eq!(printed.parse(), Ok(read), "{printed}");
        }
    }

    #[test]
    fn what_is_no_duration_is_refused() {
        for text in [
            "",
            "-",
            "3",
            "s",
            ".s",
            "1",
            "1 s",
            "1d",
            "1s 2s",
            "9223372036854775808ns",
            "3000000h",
        ] {
            assert!(text.parse::<GoDuration>().is_err(), "{text}");
        }
    }

    #[test]
    fn a_negative_duration_is_zero_to_the_standard_library() {
        assert_eq!(GoDuration::from_secs(-1).to_std(), Duration::ZERO);
        assert_eq!(GoDuration::from_secs(2).to_std(), Duration::from_secs(2));
    }
}
