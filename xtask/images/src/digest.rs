//! Content addresses: `sha256:` and 64 hexadecimal digits.

use std::{fmt, io, str::FromStr};

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

/// The SHA-256 of some content, as OCI writes it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct Digest {
    hex: String,
}

/// Not a digest that this program can check.
#[derive(Debug, thiserror::Error)]
#[error("`{0}` is no digest; one is `sha256:` and 64 hexadecimal digits in lower case")]
pub struct NoDigest(String);

impl Digest {
    /// The digest of `bytes`.
    pub fn of(bytes: &[u8]) -> Self {
        Self::from_hash(&Sha256::digest(bytes))
    }

    /// The digest of everything that `reader` gives, and how many bytes that was.
    ///
    /// # Errors
    /// The reader's.
    pub fn of_reader(reader: &mut impl io::Read) -> io::Result<(Self, u64)> {
        let mut hasher = Sha256::new();
        let size = io::copy(reader, &mut hasher)?;
        Ok((Self::from_hash(&hasher.finalize()), size))
    }

    /// The 64 digits, without the algorithm's name.
    pub fn hex(&self) -> &str {
        &self.hex
    }

    fn from_hash(hash: &[u8]) -> Self {
        let hex = hash.iter().fold(String::with_capacity(64), |mut hex, byte| {
            for nibble in [byte >> 4, byte & 0xf] {
                hex.push(char::from_digit(nibble.into(), 16).unwrap_or_default());
            }
            hex
        });
        Self { hex }
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "sha256:{}", self.hex)
    }
}

impl FromStr for Digest {
    type Err = NoDigest;

    fn from_str(text: &str) -> Result<Self, NoDigest> {
        let hex = text.strip_prefix("sha256:").filter(|hex| {
            hex.len() == 64 && hex.bytes().all(|it| matches!(it, b'0'..=b'9' | b'a'..=b'f'))
        });
        let hex = hex.ok_or_else(|| NoDigest(text.to_owned()))?;
        Ok(Self { hex: hex.to_owned() })
    }
}

impl TryFrom<String> for Digest {
    type Error = NoDigest;

    fn try_from(text: String) -> Result<Self, NoDigest> {
        text.parse()
    }
}

impl From<Digest> for String {
    fn from(it: Digest) -> Self {
        it.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The digest that FIPS 180 gives as an example.
    const OF_ABC: &str = "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

    #[test]
    fn content_has_the_digest_that_the_standard_gives() {
        assert_eq!(Digest::of(b"abc").to_string(), OF_ABC);
        let (read, size) = Digest::of_reader(&mut &b"abc"[..]).unwrap();
        assert_eq!((read.to_string().as_str(), size), (OF_ABC, 3));
    }

    #[test]
    fn only_a_whole_sha256_is_taken() {
        assert_eq!(OF_ABC.parse::<Digest>().unwrap().to_string(), OF_ABC);
        for wrong in ["", "sha256:", "sha512:ba78", &OF_ABC[..70], &OF_ABC.to_uppercase()] {
            let error = wrong.parse::<Digest>().unwrap_err();
            assert!(error.to_string().contains("64 hexadecimal digits"), "{wrong}: {error}");
        }
        // What would leave the folder of blobs.
        let path = format!("sha256:../{}", "a".repeat(61));
        assert!(path.parse::<Digest>().is_err());
    }
}
