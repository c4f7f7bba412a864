//! Whole numbers of nanos of any size up to a bound: 128 bits where they do, else decimal limbs.

use std::cmp::Ordering;
use std::sync::Arc;

/// A limb holds nine decimal digits, so limb 0 is the fraction below one unit.
pub(super) const LIMB_BASE: u32 = 1_000_000_000;
const LIMB_DIGITS: usize = 9;

/// The largest magnitude, 10^4095 units, has this many decimal digits when counted in nanos.
const DIGITS_MAX: usize = 4095 + LIMB_DIGITS + 1;

/// A number of nanos. Equal numbers have equal representations.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Amount {
    /// Any number of a magnitude up to `i128::MAX`.
    Narrow(i128),
    /// A number of larger magnitude.
    Wide {
        /// Whether it is below zero.
        negative: bool,
        /// The magnitude, least significant limb first, the last one not zero.
        limbs: Arc<[u32]>,
    },
}

impl Default for Amount {
    fn default() -> Self {
        Self::Narrow(0)
    }
}

impl Amount {
    /// So many nanos.
    pub(super) fn from_nanos(nanos: i128) -> Self {
        if nanos == i128::MIN {
            return Self::from_limbs(true, limbs_of(nanos.unsigned_abs()));
        }
        Self::Narrow(nanos)
    }

    /// `digits` · 10^`shift` nanos, where `digits` are decimal digits (0 to 9), rounded away from
    /// zero and cut to the largest magnitude.
    pub(super) fn from_digits(negative: bool, digits: &[u8], shift: i64) -> Self {
        let zeros = digits.iter().take_while(|&&digit| digit == 0).count();
        let digits = &digits[zeros..];
        if digits.is_empty() {
            return Self::default();
        }
        if shift < 0 {
            let dropped = usize::try_from(shift.unsigned_abs()).unwrap_or(usize::MAX);
            let kept = digits.len().saturating_sub(dropped);
            let mut limbs = limbs_of_digits(&digits[..kept]);
            if digits[kept..].iter().any(|&digit| digit != 0) {
                limbs = sum(&limbs, &[1]);
            }
            return Self::from_limbs(negative, limbs);
        }
        let room = DIGITS_MAX.saturating_sub(digits.len());
        match usize::try_from(shift) {
            Ok(shift) if shift <= room => {
                let mut digits = digits.to_vec();
                digits.resize(digits.len() + shift, 0);
                Self::from_limbs(negative, limbs_of_digits(&digits))
            }
            _ => Self::from_limbs(negative, limbs_max()),
        }
    }

    /// The number of this sign and magnitude, cut to the largest magnitude.
    fn from_limbs(negative: bool, mut limbs: Vec<u32>) -> Self {
        trim(&mut limbs);
        let narrow = limbs.iter().rev().try_fold(0_i128, |high, &limb| {
            high.checked_mul(i128::from(LIMB_BASE))?.checked_add(i128::from(limb))
        });
        if let Some(magnitude) = narrow {
            return Self::Narrow(if negative { -magnitude } else { magnitude });
        }
        let max = limbs_max();
        let limbs = if compare(&limbs, &max).is_gt() { max } else { limbs };
        Self::Wide { negative, limbs: limbs.into() }
    }

    /// Sign and magnitude; the least significant limb comes first, the last one is not zero.
    pub(super) fn to_limbs(&self) -> (bool, Vec<u32>) {
        match self {
            Self::Narrow(nanos) => (*nanos < 0, limbs_of(nanos.unsigned_abs())),
            Self::Wide { negative, limbs } => (*negative, limbs.to_vec()),
        }
    }

    /// -1, 0 or 1.
    pub(super) fn sign(&self) -> i32 {
        match self {
            Self::Narrow(nanos) => match nanos.cmp(&0) {
                Ordering::Less => -1,
                Ordering::Equal => 0,
                Ordering::Greater => 1,
            },
            Self::Wide { negative, .. } => {
                if *negative {
                    -1
                } else {
                    1
                }
            }
        }
    }

    /// The same magnitude with the other sign.
    pub(super) fn negated(&self) -> Self {
        match self {
            Self::Narrow(nanos) => Self::Narrow(-nanos),
            Self::Wide { negative, limbs } => {
                Self::Wide { negative: !negative, limbs: limbs.clone() }
            }
        }
    }

    /// The sum, cut to the largest magnitude.
    pub(super) fn plus(&self, other: &Self) -> Self {
        if let (Self::Narrow(a), Self::Narrow(b)) = (self, other)
            && let Some(sum) = a.checked_add(*b)
        {
            return Self::from_nanos(sum);
        }
        let ((a_negative, a), (b_negative, b)) = (self.to_limbs(), other.to_limbs());
        if a_negative == b_negative {
            return Self::from_limbs(a_negative, sum(&a, &b));
        }
        match compare(&a, &b) {
            Ordering::Less => Self::from_limbs(b_negative, difference(&b, &a)),
            Ordering::Equal => Self::default(),
            Ordering::Greater => Self::from_limbs(a_negative, difference(&a, &b)),
        }
    }

    /// How many `unit`s (a positive number of nanos) that is, rounded away from zero and cut to
    /// what fits.
    pub(super) fn in_multiples_of(&self, unit: i128) -> i64 {
        match self {
            Self::Narrow(nanos) => {
                let rounding = if nanos % unit == 0 { 0 } else { nanos.signum() };
                let rounded = nanos / unit + rounding;
                i64::try_from(rounded).unwrap_or(if rounded < 0 { i64::MIN } else { i64::MAX })
            }
            Self::Wide { negative: true, .. } => i64::MIN,
            Self::Wide { negative: false, .. } => i64::MAX,
        }
    }
}

impl PartialOrd for Amount {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Amount {
    fn cmp(&self, other: &Self) -> Ordering {
        if let (Self::Narrow(a), Self::Narrow(b)) = (self, other) {
            return a.cmp(b);
        }
        let ((a_negative, a), (b_negative, b)) = (self.to_limbs(), other.to_limbs());
        match (a_negative, b_negative) {
            (false, false) => compare(&a, &b),
            (true, true) => compare(&b, &a),
            (false, true) => Ordering::Greater,
            (true, false) => Ordering::Less,
        }
    }
}

/// The largest magnitude.
fn limbs_max() -> Vec<u32> {
    let mut limbs = vec![0; DIGITS_MAX / LIMB_DIGITS];
    limbs.push(1);
    limbs
}

fn limbs_of(mut magnitude: u128) -> Vec<u32> {
    let base = u128::from(LIMB_BASE);
    let mut limbs = Vec::with_capacity(5);
    while magnitude > 0 {
        limbs.push(u32::try_from(magnitude % base).expect("a remainder is below the base"));
        magnitude /= base;
    }
    limbs
}

/// The limbs of a number written in decimal digits (0 to 9), most significant first.
fn limbs_of_digits(digits: &[u8]) -> Vec<u32> {
    let limb = |digits: &[u8]| digits.iter().fold(0, |high, &digit| high * 10 + u32::from(digit));
    digits.rchunks(LIMB_DIGITS).map(limb).collect()
}

fn trim(limbs: &mut Vec<u32>) {
    while limbs.last() == Some(&0) {
        limbs.pop();
    }
}

/// Compares two trimmed magnitudes.
fn compare(a: &[u32], b: &[u32]) -> Ordering {
    a.len().cmp(&b.len()).then_with(|| a.iter().rev().cmp(b.iter().rev()))
}

fn sum(a: &[u32], b: &[u32]) -> Vec<u32> {
    let mut limbs = Vec::with_capacity(a.len().max(b.len()) + 1);
    let mut carry = 0;
    for index in 0..a.len().max(b.len()) {
        let limb = carry + a.get(index).unwrap_or(&0) + b.get(index).unwrap_or(&0);
        carry = u32::from(limb >= LIMB_BASE);
        limbs.push(limb - carry * LIMB_BASE);
    }
    limbs.push(carry);
    limbs
}

/// `a` - `b`, where `a` is not smaller.
fn difference(a: &[u32], b: &[u32]) -> Vec<u32> {
    let mut limbs = Vec::with_capacity(a.len());
    let mut borrow = 0;
    for (index, limb) in a.iter().enumerate() {
        let taken = borrow + b.get(index).unwrap_or(&0);
        borrow = u32::from(*limb < taken);
        limbs.push(limb + borrow * LIMB_BASE - taken);
    }
    limbs
}
