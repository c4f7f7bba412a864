//! What builds took, in `target/measurements.json`.

use std::{
    fs, io,
    io::Write as _,
    path::{Path, PathBuf},
};

use serde::{Deserialize, Deserializer, Serialize};

use crate::{plan::Lto, size::Size};

/// The file's name, in the target folder.
const FILE: &str = "measurements.json";
/// How many runs of a kind are kept; the heaviest of them counts.
const KEPT: usize = 8;

/// What builds took.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ledger {
    version: u32,
    measurements: Vec<Measurement>,
}

/// What was built, and how.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct What {
    /// The package.
    pub package: String,
    /// Its binary.
    pub binary: String,
    /// rustc's name of the platform.
    pub target: String,
    /// The cargo profile.
    pub profile: String,
    /// How much was optimised across crates.
    pub lto: Lto,
    /// How many compilers ran at once.
    pub jobs: u32,
}

/// What one build took.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Measurement {
    /// Of what.
    #[serde(flatten)]
    pub what: What,
    /// When it ended, as RFC 3339 has it.
    pub at: String,
    /// How long it took, in seconds.
    pub wall_seconds: f64,
    /// The most memory that all its processes had together, in bytes.
    #[serde(deserialize_with = "bytes")]
    pub peak_memory_bytes: Size,
    /// Of the binary, in bytes.
    #[serde(deserialize_with = "bytes")]
    pub binary_bytes: Size,
    /// Of the whole target folder afterwards, in bytes.
    #[serde(deserialize_with = "bytes")]
    pub target_folder_bytes: Size,
    /// By how much the target folder grew, in bytes.
    #[serde(deserialize_with = "bytes")]
    pub target_growth_bytes: Size,
}

fn bytes<'de, D: Deserializer<'de>>(from: D) -> Result<Size, D::Error> {
    u64::deserialize(from).map(Size::bytes)
}

/// The file cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum LedgerError {
    /// It cannot be read or written.
    #[error("cannot {doing} {}", file.display())]
    Io {
        /// `read` or `write`.
        doing: &'static str,
        /// The file.
        file: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// It says something that is not understood.
    #[error("{}: {why}; remove it, and the next build measures again", file.display())]
    Malformed {
        /// The file.
        file: PathBuf,
        /// What is wrong.
        why: String,
    },
}

impl Ledger {
    /// Reads the file of the target folder; where there is none, nothing was measured yet.
    ///
    /// # Errors
    /// When it cannot be read or is not understood.
    pub fn read(target: &Path) -> Result<Self, LedgerError> {
        let file = target.join(FILE);
        let text = match fs::read_to_string(&file) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Self::default()),
            Err(source) => return Err(LedgerError::Io { doing: "read", file, source }),
        };
        serde_json::from_str(&text)
            .map_err(|it| LedgerError::Malformed { file, why: it.to_string() })
    }

    /// Writes the file of the target folder.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn write(&self, target: &Path) -> Result<(), LedgerError> {
        let file = target.join(FILE);
        let write = || -> io::Result<()> {
            let mut scratch = tempfile::NamedTempFile::new_in(target)?;
            let text = serde_json::to_string_pretty(self).map_err(io::Error::other)?;
            writeln!(scratch, "{text}")?;
            scratch.persist(&file).map_err(|it| it.error)?;
            Ok(())
        };
        write().map_err(|source| LedgerError::Io { doing: "write", file: file.clone(), source })
    }

    /// Keeps `measurement`, and forgets the oldest of its kind where there are many.
    pub fn add(&mut self, measurement: Measurement) {
        self.version = 1;
        let same = |it: &Measurement| it.what == measurement.what;
        while self.measurements.iter().filter(|it| same(it)).count() >= KEPT {
            if let Some(oldest) = self.measurements.iter().position(same) {
                self.measurements.remove(oldest);
            }
        }
        self.measurements.push(measurement);
    }

    /// All measurements, the latest last.
    pub fn all(&self) -> &[Measurement] {
        &self.measurements
    }

    /// The most memory that such a build took.
    pub fn memory(&self, what: &What) -> Option<Size> {
        self.of(what).map(|it| it.peak_memory_bytes).max()
    }

    /// The most by which the target folder grew with the binary of `what`, however it was built.
    pub fn growth(&self, what: &What) -> Option<Size> {
        let same = |it: &&Measurement| {
            (&it.what.package, &it.what.binary, &it.what.target)
                == (&what.package, &what.binary, &what.target)
        };
        self.measurements.iter().filter(same).map(|it| it.target_growth_bytes).max()
    }

    /// The latest of all measurements of such a build.
    pub fn last(&self, what: &What) -> Option<&Measurement> {
        self.of(what).last()
    }

    fn of(&self, what: &What) -> impl Iterator<Item = &Measurement> {
        self.measurements.iter().filter(move |it| it.what == *what)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn what(jobs: u32) -> What {
        What {
            package: "p".into(),
            binary: "b".into(),
            target: "x86_64-unknown-linux-gnu".into(),
            profile: "release".into(),
            lto: Lto::Fat,
            jobs,
        }
    }

    fn took(what: What, mebi: u64) -> Measurement {
        Measurement {
            what,
            at: "2026-01-02T03:04:05Z".into(),
            wall_seconds: 1.5,
            peak_memory_bytes: Size::mebi(mebi),
            binary_bytes: Size::mebi(7),
            target_folder_bytes: Size::mebi(1000),
            target_growth_bytes: Size::mebi(mebi / 2),
        }
    }

    #[test]
    fn the_heaviest_of_the_recent_builds_of_a_kind_counts() {
        let dir = tempfile::tempdir().unwrap();
        let mut ledger = Ledger::read(dir.path()).unwrap();
        assert_eq!(ledger.memory(&what(2)), None);
        ledger.add(took(what(2), 900));
        ledger.add(took(what(2), 700));
        ledger.add(took(what(1), 600));
        ledger.write(dir.path()).unwrap();
        let mut ledger = Ledger::read(dir.path()).unwrap();
        assert_eq!(ledger.memory(&what(2)), Some(Size::mebi(900)));
        assert_eq!(ledger.last(&what(2)).unwrap().peak_memory_bytes, Size::mebi(700));
        assert_eq!(ledger.memory(&what(1)), Some(Size::mebi(600)));
        assert_eq!(ledger.growth(&what(1)), Some(Size::mebi(450)));
        for _ in 0..KEPT {
            ledger.add(took(what(2), 500));
        }
        assert_eq!(ledger.memory(&what(2)), Some(Size::mebi(500)), "the old ones are forgotten");
    }

    #[test]
    fn a_file_that_is_not_understood_says_what_to_do() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join(FILE), "{\"version\": 1").unwrap();
        let error = Ledger::read(dir.path()).unwrap_err().to_string();
        assert!(error.contains(FILE) && error.contains("remove it"), "{error}");
    }
}
