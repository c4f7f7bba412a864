//! Reading quantities.

use super::amount::Amount;
use super::format::Notation;
use super::{NANOS_PER_UNIT, Quantity, QuantityError};

/// The largest magnitude of a binary amount, in nanos.
const BINARY_NANOS_MAX: i128 = (i64::MAX as i128) * NANOS_PER_UNIT;

/// A number has 9 decimal places when counted in nanos.
const NANO_PLACES: i64 = 9;

/// A text taken apart.
struct Parts<'text> {
    negative: bool,
    /// Before the point, without leading zeros.
    integer: &'text [u8],
    /// After the point.
    fraction: &'text [u8],
    /// Whether there is any digit, a leading zero included.
    has_digits: bool,
    suffix: &'text str,
}

/// What a suffix means.
enum Scale {
    /// A factor of 10^.
    Decimal(i64, Notation),
    /// A factor of 2^.
    Binary(u32),
}

/// Reads a quantity. The accepted texts are exactly upstream's: a number without digits (`+`, `.`,
/// `m`) is zero unless its scale is out of the usual range (`Pi`, `Ei`, `e-10`), when it is an
/// error.
pub(super) fn parse(text: &str) -> Result<Quantity, QuantityError> {
    let parts = split(text)?;
    let scale = scale(parts.suffix)?;
    let unusual = match scale {
        Scale::Decimal(exponent, _) => exponent < -NANO_PLACES,
        Scale::Binary(exponent) => exponent >= 50,
    };
    if !parts.has_digits && unusual {
        return Err(QuantityError::Numeric);
    }
    Ok(match scale {
        Scale::Decimal(exponent, notation) => {
            Quantity { amount: amount(&parts, 0, exponent), notation }
        }
        Scale::Binary(exponent) => {
            let amount = capped(amount(&parts, exponent, 0));
            // Less than one unit cannot be shown with a binary suffix.
            let fraction = amount.sign() != 0
                && amount < Amount::from_nanos(NANOS_PER_UNIT)
                && amount > Amount::from_nanos(-NANOS_PER_UNIT);
            let notation = if fraction { Notation::DecimalSi } else { Notation::BinarySi };
            Quantity { amount, notation }
        }
    })
}

/// Takes a text apart and checks the characters, not yet the suffix.
fn split(text: &str) -> Result<Parts<'_>, QuantityError> {
    if text.is_empty() {
        return Err(QuantityError::Format);
    }
    let negative = text.starts_with('-');
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let significant = unsigned.trim_start_matches('0');
    let (integer, rest) = split_digits(significant);
    let (fraction, suffix) = rest.strip_prefix('.').map_or(("", rest), split_digits);

    let exponent = suffix.trim_start_matches(|c| "eEinumkKMGTP".contains(c));
    let exponent = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
    if !exponent.bytes().all(|c| c.is_ascii_digit()) {
        return Err(QuantityError::Format);
    }
    let has_digits =
        significant.len() < unsigned.len() || !integer.is_empty() || !fraction.is_empty();
    let (integer, fraction) = (integer.as_bytes(), fraction.as_bytes());
    Ok(Parts { negative, integer, fraction, has_digits, suffix })
}

/// Leading digits and the rest.
fn split_digits(text: &str) -> (&str, &str) {
    text.split_at(text.bytes().take_while(u8::is_ascii_digit).count())
}

fn scale(suffix: &str) -> Result<Scale, QuantityError> {
    let si = |exponent| Scale::Decimal(exponent, Notation::DecimalSi);
    Ok(match suffix {
        "n" => si(-9),
        "u" => si(-6),
        "m" => si(-3),
        "" => si(0),
        "k" => si(3),
        "M" => si(6),
        "G" => si(9),
        "T" => si(12),
        "P" => si(15),
        "E" => si(18),
        "Ki" => Scale::Binary(10),
        "Mi" => Scale::Binary(20),
        "Gi" => Scale::Binary(30),
        "Ti" => Scale::Binary(40),
        "Pi" => Scale::Binary(50),
        "Ei" => Scale::Binary(60),
        _ => {
            let exponent = suffix.strip_prefix(['e', 'E']).ok_or(QuantityError::Suffix)?;
            let exponent = exponent.parse().map_err(|_| QuantityError::Suffix)?;
            Scale::Decimal(exponent, Notation::DecimalExponent)
        }
    })
}

/// The number times 2^`binary` times 10^`decimal`.
fn amount(parts: &Parts<'_>, binary: u32, decimal: i64) -> Amount {
    let places = i64::try_from(parts.fraction.len()).unwrap_or(i64::MAX);
    let shift = decimal.saturating_sub(places).saturating_add(NANO_PLACES);
    let digits = || parts.integer.iter().chain(parts.fraction).map(|digit| digit - b'0');
    if parts.integer.len() + parts.fraction.len() <= 18 {
        // Below 10^18 · 2^60, so neither step can overflow.
        let number = digits().fold(0, |high, digit| high * 10 + i128::from(digit)) << binary;
        if let Some(nanos) = shifted(number, shift) {
            return Amount::from_nanos(if parts.negative { -nanos } else { nanos });
        }
    }
    if binary > 0 && parts.integer.len() > 19 {
        // Far beyond the bound of binary amounts whatever the other digits are.
        return Amount::from_nanos(if parts.negative { -i128::MAX } else { i128::MAX });
    }
    let mut digits: Vec<u8> = digits().collect();
    for _ in 0..binary / 10 {
        digits = times_1024(&digits);
    }
    Amount::from_digits(parts.negative, &digits, shift)
}

/// `number` · 10^`shift` rounded up, if it can be done in 128 bits. `number` is not negative.
fn shifted(number: i128, shift: i64) -> Option<i128> {
    let factor = 10_i128.checked_pow(u32::try_from(shift.unsigned_abs()).ok()?)?;
    if shift >= 0 {
        number.checked_mul(factor)
    } else {
        Some(number / factor + i128::from(number % factor != 0))
    }
}

/// The decimal digits (0 to 9) of 1024 times the number.
fn times_1024(digits: &[u8]) -> Vec<u8> {
    let last_digit = |number: u32| u8::try_from(number % 10).expect("a decimal digit");
    let mut product = Vec::with_capacity(digits.len() + 4);
    let mut carry = 0;
    for &digit in digits.iter().rev() {
        carry += u32::from(digit) * 1024;
        product.push(last_digit(carry));
        carry /= 10;
    }
    while carry > 0 {
        product.push(last_digit(carry));
        carry /= 10;
    }
    product.reverse();
    product
}

/// Binary amounts are cut to what fits in 64 bits.
fn capped(amount: Amount) -> Amount {
    let (low, high) = (Amount::from_nanos(-BINARY_NANOS_MAX), Amount::from_nanos(BINARY_NANOS_MAX));
    amount.clamp(low, high)
}
