//! What can go wrong between this program and a registry, in words that say what to do next.

use std::error::Error;

use oci_client::errors::{DigestError, OciDistributionError, OciErrorCode};

/// Something that could not be done at a registry.
#[derive(Debug, thiserror::Error)]
#[error("cannot {doing}: {kind}")]
pub struct Fault {
    /// What was attempted, to follow "cannot".
    pub doing: String,
    /// Why it failed.
    pub kind: Kind,
}

impl Fault {
    /// What could not be done, to follow "cannot", and why.
    pub fn new(doing: impl Into<String>, kind: Kind) -> Self {
        Self { doing: doing.into(), kind }
    }

    /// What happened, without what to do about it.
    pub fn short(&self) -> String {
        let text = self.to_string();
        text.split_once("; ").map_or(&*text, |(happened, _)| happened).to_owned()
    }
}

/// Why a registry did not do what it was asked.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Kind {
    /// Nothing listens there, or the name is unknown.
    #[error(
        "no registry answers ({0}); `cargo xtask forge up` starts one on this machine, and \
         `curl URL/v2/` shows whether another can be reached"
    )]
    Unreachable(String),
    /// No resolver knows the name.
    #[error(
        "no resolver knows the registry's name ({0}); labs/topology.toml or /etc/hosts can give it an \
         address"
    )]
    NoAddress(String),
    /// It speaks HTTP where TLS is wanted.
    #[error(
        "the registry does not speak TLS; if it may be spoken to without, `--insecure-registry` says \
         so, or `plain-http` in labs/topology.toml"
    )]
    NoTls,
    /// Its certificate is nobody's who is trusted here.
    #[error(
        "the registry's certificate is not trusted ({0}); SSL_CERT_FILE can name a file with its \
         authority's"
    )]
    Untrusted(String),
    /// A connection ended before the answer was there.
    #[error("the connection broke off ({0}); the same command again goes on with what is missing")]
    Broken(String),
    /// It is busy, or in trouble that may pass.
    #[error("the registry answers {code}: {message}; its log says more")]
    Trouble {
        /// Of HTTP.
        code: u16,
        /// What it says.
        message: String,
    },
    /// It has no room.
    #[error(
        "the registry's disk is full ({0}); make room there, then the same command again goes on \
         with what is missing"
    )]
    DiskFull(String),
    /// It wants to know who asks.
    #[error("the registry wants other credentials ({0}); `docker login` stores them")]
    Unauthorized(String),
    /// It knows who asks, and says no.
    #[error("the registry does not allow it ({0}); its owner can give you access")]
    Denied(String),
    /// What was asked for is not there.
    #[error("the registry does not have it ({0})")]
    NotFound(String),
    /// What it sent is not what it should be.
    #[error("the content is not what its digest says: {expected} is expected, {actual} is there")]
    WrongDigest {
        /// What it is stored under, or said to be.
        expected: String,
        /// What it is.
        actual: String,
    },
    /// It says no for another reason.
    #[error("the registry refuses ({code}): {message}")]
    Refused {
        /// Of HTTP or of the distribution specification.
        code: String,
        /// What it says.
        message: String,
    },
    /// Its answer is none that the distribution specification knows.
    #[error("the registry answers oddly: {0}; is it an OCI registry, and nothing in between?")]
    Odd(String),
    /// Something on this side.
    #[error("{0}")]
    Here(String),
}

impl Kind {
    /// Whether the same request may succeed in a moment.
    pub fn is_transient(&self) -> bool {
        matches!(self, Self::Unreachable(_) | Self::Broken(_) | Self::Trouble { .. })
    }
}

impl From<OciDistributionError> for Kind {
    fn from(error: OciDistributionError) -> Self {
        use OciDistributionError as E;
        match error {
            E::RequestError(error) => of_request(&error),
            E::IoError(error) => Self::Broken(root(&error)),
            E::ServerError { code, message, .. } => of_answer(code, &message),
            E::RegistryError { envelope, .. } => match envelope.errors.into_iter().next() {
                Some(first) => of_code(&first.code, &first.message),
                None => Self::Odd("an error without a reason".to_owned()),
            },
            E::UnauthorizedError { .. } => Self::Unauthorized("answer 401".to_owned()),
            E::AuthenticationFailure(reason) => Self::Unauthorized(one_line(&reason)),
            E::DigestError(DigestError::VerificationError { expected, actual }) => {
                Self::WrongDigest { expected, actual }
            }
            E::ImageManifestNotFoundError(what) => Self::NotFound(what),
            other => Self::Odd(one_line(&other.to_string())),
        }
    }
}

fn of_request(error: &reqwest::Error) -> Kind {
    if let Some(status) = error.status() {
        return of_answer(status.as_u16(), status.canonical_reason().unwrap_or_default());
    }
    if error.is_connect() {
        of_connect(root(error))
    } else if error.is_builder() || error.is_redirect() || error.is_decode() {
        Kind::Odd(root(error))
    } else if error.is_timeout() {
        Kind::Broken("no answer in time".to_owned())
    } else {
        Kind::Broken(root(error))
    }
}

/// Why there is no connection; the texts are those of the system and of rustls.
fn of_connect(cause: String) -> Kind {
    let has = |text: &str| cause.contains(text);
    if has("lookup address") || has("Name or service not known") {
        Kind::NoAddress(cause)
    } else if has("InvalidContentType") {
        Kind::NoTls
    } else if has("invalid peer certificate") {
        Kind::Untrusted(cause)
    } else {
        Kind::Unreachable(cause)
    }
}

/// What a status code and a body mean. The codes that may pass are those of which HTTP says so.
fn of_answer(code: u16, body: &str) -> Kind {
    if code == 507 || is_full(body) {
        return Kind::DiskFull(format!("answer {code}"));
    }
    let message = message(body);
    match code {
        // No registry says so by a page for people; something else listens there.
        404 if body.trim_start().starts_with('<') => {
            Kind::Odd("404, with a page of HTML".to_owned())
        }
        401 => Kind::Unauthorized(message),
        403 => Kind::Denied(message),
        404 => Kind::NotFound(message),
        408 | 425 | 429 | 500 | 502..=504 => Kind::Trouble { code, message },
        400..=499 => Kind::Refused { code: code.to_string(), message },
        _ => Kind::Odd(format!("{code} {message}")),
    }
}

fn of_code(code: &OciErrorCode, message: &str) -> Kind {
    use OciErrorCode as C;
    let message = one_line(message);
    match code {
        C::BlobUnknown | C::ManifestUnknown | C::NameUnknown | C::NotFound => {
            Kind::NotFound(message)
        }
        C::Unauthorized => Kind::Unauthorized(message),
        C::Denied => Kind::Denied(message),
        C::Toomanyrequests => Kind::Trouble { code: 429, message },
        other => Kind::Refused { code: format!("{other:?}"), message },
    }
}

/// Whether a body tells of a full disk. CNCF distribution tells of the system's error by its number:
/// 28 is `ENOSPC`.
fn is_full(body: &str) -> bool {
    let body = body.to_lowercase();
    body.contains("no space left") || body.contains("\"err\":28")
}

/// The text of an answer: that of the specification's envelope, else the beginning of the body.
fn message(body: &str) -> String {
    let parsed: Option<serde_json::Value> = serde_json::from_str(body).ok();
    let text = |it: &serde_json::Value| {
        let first = it.pointer("/errors/0")?;
        let code = first["code"].as_str().unwrap_or("no code");
        Some(format!("{code}: {}", first["message"].as_str().unwrap_or("no message")))
    };
    let found = parsed.as_ref().and_then(text).unwrap_or_else(|| body.to_owned());
    if found.trim().is_empty() { "no message".to_owned() } else { one_line(&found) }
}

/// At most a line of a foreign text, without what would move a terminal's cursor.
fn one_line(text: &str) -> String {
    let line: String = text.chars().map(|it| if it.is_control() { ' ' } else { it }).collect();
    let line = line.trim();
    match line.char_indices().nth(200) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line.to_owned(),
    }
}

/// The innermost cause, which is the one that says something.
pub(super) fn root(error: &dyn Error) -> String {
    let mut inner = error;
    while let Some(source) = inner.source() {
        inner = source;
    }
    one_line(&inner.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_disk_is_told_from_other_trouble() {
        // The body is what CNCF distribution 2.8 sends.
        let full = r#"{"errors":[{"code":"UNKNOWN","message":"unknown error","detail":{"DriverName":"filesystem","Enclosed":{"Op":"write","Path":"/data","Err":28}}}]}"#;
        assert!(matches!(of_answer(500, full), Kind::DiskFull(_)));
        let other = full.replace("28", "5");
        let told = of_answer(500, &other);
        assert_eq!(told, Kind::Trouble { code: 500, message: "UNKNOWN: unknown error".to_owned() });
        assert!(told.is_transient());
        assert!(!of_answer(500, full).is_transient());
    }

    #[test]
    fn what_happened_is_told_without_advice_while_there_is_hope() {
        let fault = Fault::new("reach a", Kind::Unreachable("Connection refused".to_owned()));
        assert_eq!(fault.short(), "cannot reach a: no registry answers (Connection refused)");
        assert!(fault.to_string().contains("forge up"));
    }

    #[test]
    fn a_web_server_is_not_taken_for_a_registry_without_the_image() {
        assert!(matches!(of_answer(404, "<!DOCTYPE HTML>\n<html>"), Kind::Odd(_)));
        assert!(matches!(of_answer(404, ""), Kind::NotFound(_)));
    }

    #[test]
    fn foreign_text_is_a_short_line() {
        assert_eq!(one_line("a\u{1b}[31m\nb "), "a [31m b");
        assert_eq!(one_line(&"x".repeat(1000)).chars().count(), 201);
        assert_eq!(message(""), "no message");
    }
}
