//! Which source an image is made from, and the time that everything in it has.

use std::{
    env,
    path::Path,
    process::{Command, Stdio},
};

/// Which source, and when.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Provenance {
    /// In seconds since 1970: `SOURCE_DATE_EPOCH`, else when the commit was made.
    pub epoch: u64,
    /// The same, as RFC 3339 has it.
    pub created: String,
    /// The commit; with `-dirty` behind it where files differ from it.
    pub revision: String,
}

/// It cannot be told.
#[derive(Debug, thiserror::Error)]
pub enum ProvenanceError {
    /// The variable is no time.
    #[error("SOURCE_DATE_EPOCH is `{0}`; it must be a number of seconds since 1970")]
    Epoch(String),
    /// There is neither a variable nor a commit.
    #[error(
        "there is no commit to take the time from; set SOURCE_DATE_EPOCH to seconds since 1970"
    )]
    NoCommit,
}

/// Which source the repository at `root` has.
///
/// # Errors
/// When neither git nor the environment tells a time.
pub fn provenance(root: &Path) -> Result<Provenance, ProvenanceError> {
    let given = env::var("SOURCE_DATE_EPOCH").ok();
    let git = |words: &[&str]| {
        let mut git = Command::new("git");
        let output = git.args(words).current_dir(root).stdin(Stdio::null()).output().ok()?;
        let text = String::from_utf8_lossy(&output.stdout).trim().to_owned();
        output.status.success().then_some(text)
    };
    from(
        given.as_deref(),
        git(&["log", "-1", "--format=%ct %H"]).as_deref(),
        git(&["status", "--porcelain", "--untracked-files=no"]).as_deref(),
    )
}

fn from(
    given: Option<&str>,
    commit: Option<&str>,
    changes: Option<&str>,
) -> Result<Provenance, ProvenanceError> {
    let commit = commit.and_then(|it| it.split_once(' '));
    let text = given.or_else(|| commit.map(|(time, _)| time)).ok_or(ProvenanceError::NoCommit)?;
    let wrong = || ProvenanceError::Epoch(text.to_owned());
    let epoch: u64 = text.parse().map_err(|_| wrong())?;
    let time = i64::try_from(epoch).ok().and_then(|it| jiff::Timestamp::from_second(it).ok());
    let created = time.ok_or_else(wrong)?.to_string();
    let is_dirty = changes.is_some_and(|it| !it.is_empty());
    let revision = commit.map_or_else(String::new, |(_, it)| it.to_owned());
    let revision = if is_dirty { format!("{revision}-dirty") } else { revision };
    Ok(Provenance { epoch, created, revision })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_variable_comes_before_the_commit() {
        let of = |given| from(given, Some("1767323045 4257d2e"), Some("")).unwrap();
        assert_eq!(of(None).created, "2026-01-02T03:04:05Z");
        assert_eq!(of(None).revision, "4257d2e");
        assert_eq!(of(Some("0")).created, "1970-01-01T00:00:00Z");
        let dirty = from(None, Some("1767323045 4257d2e"), Some(" M README.md")).unwrap();
        assert_eq!(dirty.revision, "4257d2e-dirty");
    }

    #[test]
    fn without_a_time_the_variable_is_asked_for() {
        let error = from(None, None, None).unwrap_err().to_string();
        assert!(error.contains("set SOURCE_DATE_EPOCH"), "{error}");
        for wrong in ["", "yesterday", "-1", "99999999999999999"] {
            assert!(matches!(from(Some(wrong), None, None), Err(ProvenanceError::Epoch(_))));
        }
        let plain = from(Some("7"), None, None).unwrap();
        assert_eq!((plain.epoch, plain.revision.as_str()), (7, ""));
    }
}
