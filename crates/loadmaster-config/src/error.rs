//! What is wrong with a configuration, for a person: file, place, path, what would be right.

use std::fmt;

use loadmaster_framework::nearest;

/// A place in a text, counted from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// The line.
    pub line: u32,
    /// The character in the line.
    pub column: u32,
}

/// How far a configuration came before it was refused. The order is that of the work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stage {
    /// Notation, version and kind, unknown or repeated fields, types.
    Decode,
    /// Values.
    Validate,
    /// Making the profiles and extenders.
    Build,
}

impl Stage {
    /// `decode`, `validate` or `build`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Decode => "decode",
            Self::Validate => "validate",
            Self::Build => "build",
        }
    }
}

/// One fault.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The field, as in `profiles[0].plugins.score.enabled[1].name`; empty for the whole file.
    pub path: String,
    /// Where the field stands in the text, when that is known.
    pub place: Option<Place>,
    /// What is wrong.
    pub message: String,
    /// What would be right, when that can be guessed.
    pub hint: Option<String>,
    /// The profile whose making failed; for [`Stage::Build`] alone.
    pub profile: Option<String>,
}

impl Problem {
    pub(crate) fn new(path: impl Into<String>, message: impl Into<String>) -> Self {
        let (path, message) = (path.into(), message.into());
        Self { path, place: None, message, hint: None, profile: None }
    }

    pub(crate) fn at(self, place: Place) -> Self {
        Self { place: Some(place), ..self }
    }

    pub(crate) fn hint(self, hint: impl Into<String>) -> Self {
        Self { hint: Some(hint.into()), ..self }
    }
}

/// Writes `PATH: MESSAGE (HINT)`.
impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.path.is_empty() {
            write!(f, "{}: ", self.path)?;
        }
        f.write_str(&self.message)?;
        match &self.hint {
            Some(hint) => write!(f, " ({hint})"),
            None => Ok(()),
        }
    }
}

/// A configuration that cannot be used: every fault of the first stage that found any.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigError {
    /// The name of the text, usually of its file.
    pub source_name: String,
    /// Where the work ended.
    pub stage: Stage,
    /// The faults; at least one.
    pub problems: Vec<Problem>,
}

/// One line a fault: `FILE:LINE:COLUMN: PATH: MESSAGE (HINT)`.
impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, problem) in self.problems.iter().enumerate() {
            if index > 0 {
                f.write_str("\n")?;
            }
            f.write_str(&self.source_name)?;
            if let Some(Place { line, column }) = problem.place {
                write!(f, ":{line}:{column}")?;
            }
            write!(f, ": {problem}")?;
        }
        Ok(())
    }
}

impl std::error::Error for ConfigError {}

/// Something that upstream takes in silence and that is probably not meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Warning {
    /// The field.
    pub path: String,
    /// Where the field stands in the text, when that is known.
    pub place: Option<Place>,
    /// What is odd, and what to write instead.
    pub message: String,
}

/// Writes `PATH: MESSAGE`.
impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path, self.message)
    }
}

/// `did you mean WORD?`, if one of `words` is near enough to be meant.
pub(crate) fn did_you_mean<'w>(
    given: &str,
    words: impl IntoIterator<Item = &'w str>,
) -> Option<String> {
    // No word is that long, and comparing takes time.
    let given = Some(given).filter(|it| it.len() <= 100)?;
    nearest(given, words).map(|it| format!("did you mean {it}?"))
}
