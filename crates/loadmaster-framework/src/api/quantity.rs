//! Kubernetes quantities (`100m`, `1.5Gi`, `12e6`), exact.
//!
//! The notation, its oddities and the rounding are those of apimachinery's `resource.Quantity`:
//! amounts finer than 1n are rounded away from zero to 1n, binary amounts (`Ki` … `Ei`) end at
//! 2^63-1. Where upstream wraps around, loses a sign or takes minutes, the right number is given
//! in bounded time.

mod amount;
mod format;
mod parse;

#[cfg(test)]
mod tests;

use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::ops::{Add, AddAssign, Sub, SubAssign};
use std::str::FromStr;

use serde::de::{self, Deserialize, Deserializer, Visitor};
use serde::ser::{Serialize, Serializer};

use amount::Amount;
use format::Notation;

/// Nanos per unit, and per thousandth of a unit.
const NANOS_PER_UNIT: i128 = 1_000_000_000;
const NANOS_PER_MILLI: i128 = 1_000_000;

/// An exact amount of a resource, counted in billionths of its unit (cores, bytes, pieces).
///
/// Equality, order and hash are those of the amount: `1Gi`, `1024Mi` and `1073741824` are equal.
/// Printing gives the canonical form in the notation the amount was written in.
///
/// Amounts up to 10^4095 are kept exactly; larger ones are that number. All that are used up to
/// 1.7·10^29 take no allocation.
///
/// ```
/// use loadmaster_framework::api::Quantity;
///
/// let half: Quantity = "0.5".parse()?;
/// assert_eq!((half.value(), half.milli_value(), half.to_string()), (1, 500, "500m".to_owned()));
/// assert_eq!(&half + &half, "1000m".parse()?);
/// # Ok::<_, loadmaster_framework::api::QuantityError>(())
/// ```
#[derive(Clone, Default)]
pub struct Quantity {
    amount: Amount,
    notation: Notation,
}

/// Why a text is not a quantity, in upstream's words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
pub enum QuantityError {
    /// The text does not look like a number and a suffix at all.
    #[error(
        "quantities must match the regular expression \
         '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
    )]
    Format,
    /// There is no number before the suffix.
    #[error("unable to parse numeric part of quantity")]
    Numeric,
    /// The suffix is not one of `n`, `u`, `m`, `k`, `M`, `G`, `T`, `P`, `E`, `Ki`, `Mi`, `Gi`,
    /// `Ti`, `Pi`, `Ei` or an exponent such as `e3`.
    #[error("unable to parse quantity's suffix")]
    Suffix,
}

impl Quantity {
    /// Reads a quantity (upstream: `ParseQuantity`). Takes time in proportion to the text.
    ///
    /// # Errors
    /// When the text is not a quantity; no amount is too large or too small.
    pub fn parse(text: &str) -> Result<Self, QuantityError> {
        parse::parse(text)
    }

    /// So many units.
    pub fn from_value(units: i64) -> Self {
        Self::from_nanos(i128::from(units) * NANOS_PER_UNIT)
    }

    /// So many thousandths of a unit.
    pub fn from_milli_value(millis: i64) -> Self {
        Self::from_nanos(i128::from(millis) * NANOS_PER_MILLI)
    }

    fn from_nanos(nanos: i128) -> Self {
        Self { amount: Amount::from_nanos(nanos), notation: Notation::DecimalSi }
    }

    /// The amount in whole units, rounded away from zero; what does not fit is the nearest number
    /// that does (upstream: `Value`, which wraps).
    pub fn value(&self) -> i64 {
        self.amount.in_multiples_of(NANOS_PER_UNIT)
    }

    /// The amount in thousandths of a unit, as [`value`](Self::value) (upstream: `MilliValue`).
    pub fn milli_value(&self) -> i64 {
        self.amount.in_multiples_of(NANOS_PER_MILLI)
    }

    /// -1, 0 or 1.
    pub fn sign(&self) -> i32 {
        self.amount.sign()
    }

    /// Whether the amount is zero.
    pub fn is_zero(&self) -> bool {
        self.sign() == 0
    }

    /// The notation of a sum: that of the first operand, unless it is zero.
    fn joint_notation(&self, other: &Self) -> Notation {
        if self.is_zero() { other.notation } else { self.notation }
    }
}

impl Add for &Quantity {
    type Output = Quantity;

    fn add(self, other: Self) -> Quantity {
        let amount = self.amount.plus(&other.amount);
        Quantity { amount, notation: self.joint_notation(other) }
    }
}

impl Sub for &Quantity {
    type Output = Quantity;

    fn sub(self, other: Self) -> Quantity {
        let amount = self.amount.plus(&other.amount.negated());
        Quantity { amount, notation: self.joint_notation(other) }
    }
}

impl AddAssign<&Self> for Quantity {
    fn add_assign(&mut self, other: &Self) {
        *self = &*self + other;
    }
}

impl SubAssign<&Self> for Quantity {
    fn sub_assign(&mut self, other: &Self) {
        *self = &*self - other;
    }
}

impl PartialEq for Quantity {
    fn eq(&self, other: &Self) -> bool {
        self.amount == other.amount
    }
}

impl Eq for Quantity {}

impl PartialOrd for Quantity {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Quantity {
    fn cmp(&self, other: &Self) -> Ordering {
        self.amount.cmp(&other.amount)
    }
}

impl Hash for Quantity {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.amount.hash(state);
    }
}

impl FromStr for Quantity {
    type Err = QuantityError;

    fn from_str(text: &str) -> Result<Self, QuantityError> {
        Self::parse(text)
    }
}

impl fmt::Display for Quantity {
    /// The canonical form: no fraction, the largest suffix without loss.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format::canonical(&self.amount, self.notation))
    }
}

impl fmt::Debug for Quantity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Serialize for Quantity {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Quantity {
    /// Reads what the API server accepts: a text, with space around it dropped, or a number.
    /// `null` is zero.
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct TextOrNumber;

        impl Visitor<'_> for TextOrNumber {
            type Value = Quantity;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a quantity such as \"100m\" or 2")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Quantity, E> {
                // An escaped control character is not space to the server, which trims first.
                let space = |c: char| c.is_whitespace() && !c.is_ascii_control();
                Quantity::parse(text.trim_matches(space)).map_err(E::custom)
            }

            fn visit_i64<E>(self, units: i64) -> Result<Quantity, E> {
                Ok(Quantity::from_value(units))
            }

            fn visit_u64<E>(self, units: u64) -> Result<Quantity, E> {
                Ok(Quantity::from_nanos(i128::from(units) * NANOS_PER_UNIT))
            }

            fn visit_f64<E: de::Error>(self, number: f64) -> Result<Quantity, E> {
                Quantity::parse(&number.to_string()).map_err(E::custom)
            }

            fn visit_unit<E>(self) -> Result<Quantity, E> {
                Ok(Quantity::default())
            }
        }

        from.deserialize_any(TextOrNumber)
    }
}
