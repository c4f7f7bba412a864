//! The canonical form of a quantity.

use super::amount::{Amount, LIMB_BASE};

/// The suffixes of the decimal notation, from 10^-9 in steps of 10^3.
const DECIMAL_SUFFIXES: [&str; 10] = ["n", "u", "m", "", "k", "M", "G", "T", "P", "E"];

/// The suffixes of the binary notation, from 2^0 in steps of 2^10.
const BINARY_SUFFIXES: [&str; 7] = ["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];

/// How a quantity was written and will be printed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Notation {
    /// `12M`.
    #[default]
    DecimalSi,
    /// `12Mi`.
    BinarySi,
    /// `12e6`.
    DecimalExponent,
}

/// The canonical form: without a fraction, with the largest suffix that loses nothing. What a
/// binary notation could not show without a fraction, and what is below 1024, is shown in decimal
/// notation.
pub(super) fn canonical(amount: &Amount, notation: Notation) -> String {
    let (negative, limbs) = amount.to_limbs();
    let Some((&fraction, units)) = limbs.split_first() else {
        return "0".to_owned();
    };
    let sign = if negative { "-" } else { "" };
    let kibi = units.len() > 1 || units.first().is_some_and(|&units| units >= 1024);
    match notation {
        Notation::BinarySi if kibi && fraction == 0 => format!("{sign}{}", binary(units.to_vec())),
        Notation::BinarySi | Notation::DecimalSi => format!("{sign}{}", decimal_si(&limbs)),
        Notation::DecimalExponent => format!("{sign}{}", decimal_exponent(&limbs)),
    }
}

/// The magnitude `units` with all factors of 1024 moved into the suffix.
fn binary(mut units: Vec<u32>) -> String {
    let mut suffix = 0;
    while suffix + 1 < BINARY_SUFFIXES.len() {
        let (quotient, remainder) = divided_by_1024(&units);
        if remainder != 0 {
            break;
        }
        units = quotient;
        suffix += 1;
    }
    format!("{}{}", digits(&units), BINARY_SUFFIXES[suffix])
}

fn decimal_si(limbs: &[u32]) -> String {
    let (mantissa, exponent) = mantissa_and_exponent(limbs);
    let step = usize::try_from(exponent / 3 + 3).expect("no amount is finer than 1n");
    let last = DECIMAL_SUFFIXES.len() - 1;
    // Beyond the last suffix the number itself grows (upstream drops the factor).
    let zeros = step.saturating_sub(last) * 3;
    format!("{mantissa}{:0<zeros$}{}", "", DECIMAL_SUFFIXES[step.min(last)])
}

fn decimal_exponent(limbs: &[u32]) -> String {
    match mantissa_and_exponent(limbs) {
        (mantissa, 0) => mantissa,
        (mantissa, exponent) => format!("{mantissa}e{exponent}"),
    }
}

/// The magnitude as digits · 10^exponent units, the exponent as large as can be and a multiple
/// of 3.
fn mantissa_and_exponent(limbs: &[u32]) -> (String, i32) {
    let digits = digits(limbs);
    let stripped = digits.trim_end_matches('0').len();
    let zeros = (digits.len() - stripped) / 3 * 3;
    let exponent = i32::try_from(zeros).expect("amounts have at most some thousand digits") - 9;
    (digits[..digits.len() - zeros].to_owned(), exponent)
}

/// The magnitude in decimal digits.
fn digits(limbs: &[u32]) -> String {
    let mut limbs = limbs.iter().rev().skip_while(|&&limb| limb == 0);
    let first = limbs.next().map_or_else(String::new, u32::to_string);
    limbs.fold(first, |high, limb| format!("{high}{limb:09}"))
}

/// Quotient and remainder of the magnitude divided by 1024.
fn divided_by_1024(limbs: &[u32]) -> (Vec<u32>, u64) {
    let mut quotient = limbs.to_vec();
    let mut remainder = 0;
    for limb in quotient.iter_mut().rev() {
        let dividend = remainder * u64::from(LIMB_BASE) + u64::from(*limb);
        *limb = u32::try_from(dividend / 1024).expect("the remainder is below the divisor");
        remainder = dividend % 1024;
    }
    (quotient, remainder)
}
