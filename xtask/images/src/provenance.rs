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
    /// The URL of the remote `origin`, without a password; empty where there is none, or where it is
    /// a folder of this machine.
    pub source: String,
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
    let (commit, changes) = (
        git(&["log", "-1", "--format=%ct %H"]),
        git(&["status", "--porcelain", "--untracked-files=no"]),
    );
    let origin = git(&["remote", "get-url", "origin"]);
    let told = from(given.as_deref(), commit.as_deref(), changes.as_deref())?;
    Ok(Provenance { source: origin.as_deref().and_then(public).unwrap_or_default(), ..told })
}

/// A remote as everybody can be told of it: a URL without a password. That of a folder is none.
fn public(remote: &str) -> Option<String> {
    let (scheme, rest) = match remote.split_once("://") {
        Some((scheme @ ("http" | "https" | "ssh" | "git"), rest)) => (scheme, rest.to_owned()),
        Some(_) => return None,
        // `me@host:path`, as ssh has it; one with a slash before the colon is a folder.
        None => {
            let (host, path) = remote.split_once(':')?;
            if host.is_empty() || host.contains('/') {
                return None;
            }
            ("ssh", format!("{host}/{}", path.trim_start_matches('/')))
        }
    };
    let (host, path) = rest.split_once('/')?;
    let (user, host) =
        host.rsplit_once('@').map_or((None, host), |(user, host)| (Some(user), host));
    // With ssh the user is part of the address and no secret; elsewhere it may be a token.
    let user = user.filter(|_| scheme == "ssh").and_then(|it| it.split(':').next());
    let user = user.map_or_else(String::new, |it| format!("{it}@"));
    Some(format!("{scheme}://{user}{host}/{path}"))
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
    Ok(Provenance { epoch, created, revision, source: String::new() })
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
    fn a_remote_is_told_without_its_password_and_a_folder_not_at_all() {
        for (remote, told) in [
            ("https://example.com/me/x.git", Some("https://example.com/me/x.git")),
            ("https://me:secret@example.com/me/x", Some("https://example.com/me/x")),
            ("https://token@example.com/me/x", Some("https://example.com/me/x")),
            ("git@example.com:me/x.git", Some("ssh://git@example.com/me/x.git")),
            ("ssh://git:pw@example.com:22/me/x", Some("ssh://git@example.com:22/me/x")),
            ("/srv/x.git", None),
            ("./x:y", None),
            ("file:///srv/x.git", None),
        ] {
            assert_eq!(public(remote).as_deref(), told, "{remote}");
        }
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
