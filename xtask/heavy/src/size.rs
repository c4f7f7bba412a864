//! Sizes of memory and files.

use std::{
    fmt,
    ops::{Add, Sub},
    str::FromStr,
};

use serde::{Deserialize, Serialize};

/// A number of bytes; written `2560MB` or `5.0GB`, where a MB has 1024² bytes and a GB 1024 MB, as the
/// memory of virtual machines is counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(into = "u64", try_from = "String")]
pub struct Size(u64);

/// Not a size.
#[derive(Debug, thiserror::Error)]
#[error("`{0}` is no size; write a number and `MB` or `GB`, such as `2560MB`")]
pub struct NoSize(String);

const MEBI: u64 = 1024 * 1024;

impl Size {
    /// So many bytes.
    pub const fn bytes(bytes: u64) -> Self {
        Self(bytes)
    }

    /// So many times 1024² bytes.
    pub const fn mebi(mebi: u64) -> Self {
        Self(mebi.saturating_mul(MEBI))
    }

    /// In bytes.
    pub const fn as_bytes(self) -> u64 {
        self.0
    }
}

impl fmt::Display for Size {
    /// In MB below 10 GB, since margins are counted in them.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mebi = self.0 as f64 / MEBI as f64;
        let text = match mebi {
            it if it < 100.0 => format!("{it:.1} MB"),
            it if it < 10_240.0 => format!("{it:.0} MB"),
            it => format!("{:.1} GB", it / 1024.0),
        };
        f.pad(&text)
    }
}

impl FromStr for Size {
    type Err = NoSize;

    fn from_str(text: &str) -> Result<Self, NoSize> {
        let wrong = || NoSize(text.to_owned());
        let (number, unit) = match (text.strip_suffix("MB"), text.strip_suffix("GB")) {
            (Some(number), _) => (number, 1),
            (_, Some(number)) => (number, 1024),
            _ => return Err(wrong()),
        };
        let (whole, part) = number.trim().split_once('.').unwrap_or_else(|| (number.trim(), "0"));
        let digits = |it: &str| it.parse::<u64>().map_err(|_| wrong());
        if part.len() > 3 {
            return Err(wrong());
        }
        let scale = 10_u64.pow(u32::try_from(part.len()).unwrap_or_default());
        let thousandth =
            digits(whole)?.checked_mul(scale).and_then(|it| it.checked_add(digits(part).ok()?));
        let bytes = thousandth.and_then(|it| it.checked_mul(MEBI * unit)).ok_or_else(wrong)?;
        Ok(Self(bytes / scale))
    }
}

impl TryFrom<String> for Size {
    type Error = NoSize;

    fn try_from(text: String) -> Result<Self, NoSize> {
        text.parse()
    }
}

impl From<Size> for u64 {
    fn from(it: Size) -> Self {
        it.0
    }
}

impl Add for Size {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

/// What is left; nothing where there was less.
impl Sub for Size {
    type Output = Self;

    fn sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_as_the_course_writes_them() {
        assert_eq!("2560MB".parse::<Size>().unwrap().as_bytes(), 2_684_354_560);
        assert_eq!("5.0GB".parse::<Size>().unwrap(), Size::mebi(5120));
        assert_eq!("9.5 GB".parse::<Size>().unwrap(), Size::mebi(9728));
        for wrong in ["", "MB", "2560", "-1MB", "1.2.3GB", "99999999999999999999MB", "2560mb"] {
            assert!(wrong.parse::<Size>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn sizes_are_written_in_the_unit_in_which_margins_are_counted() {
        assert_eq!(Size::bytes(7_235_174).to_string(), "6.9 MB");
        assert_eq!(Size::mebi(2560).to_string(), "2560 MB");
        assert_eq!(Size::mebi(24_105).to_string(), "23.5 GB");
    }
}
