//! Error texts of selectors in upstream's words: field paths, quoting, joining.

use std::fmt::{self, Write};

use crate::api::Text;

/// Why a selector of labels or nodes could not be understood, in upstream's words.
#[derive(Clone, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[error("{text}")]
pub struct SelectorError {
    messages: Vec<String>,
    text: String,
}

impl SelectorError {
    /// An error of one message.
    pub(crate) fn new(message: String) -> Self {
        Self { text: message.clone(), messages: vec![message] }
    }

    /// One error of several messages; none if there are none. As upstream's aggregate, several
    /// different messages are bracketed and a repeated one is said once.
    pub(crate) fn from_messages(messages: Vec<String>) -> Option<Self> {
        let mut distinct: Vec<&str> = Vec::new();
        for message in &messages {
            if !distinct.contains(&message.as_str()) {
                distinct.push(message);
            }
        }
        let text = match distinct.as_slice() {
            [] => return None,
            [one] => (*one).to_owned(),
            several => format!("[{}]", several.join(", ")),
        };
        Some(Self { messages, text })
    }

    /// One error of all messages of `errors`; none if there are none.
    pub(crate) fn from_errors(errors: impl IntoIterator<Item = Self>) -> Option<Self> {
        Self::from_messages(errors.into_iter().flat_map(|error| error.messages).collect())
    }
}

/// The way to a field inside an object (upstream: `field.Path`).
#[derive(Clone, Debug)]
pub(crate) struct Field(String);

impl Field {
    /// The object itself.
    pub(crate) fn root() -> Self {
        Self(String::new())
    }

    /// A field that is named from outside.
    pub(crate) fn at(path: &str) -> Self {
        Self(path.to_owned())
    }

    /// The field `name` of this one.
    pub(crate) fn child(&self, name: &str) -> Self {
        let dot = if self.0.is_empty() { "" } else { "." };
        Self(format!("{}{dot}{name}", self.0))
    }

    /// An element of this list, or an entry of this map.
    pub(crate) fn index(&self, index: impl fmt::Display) -> Self {
        Self(format!("{}[{index}]", self.0))
    }

    /// A text that breaks a rule.
    pub(crate) fn invalid_text(&self, value: &str, why: &str) -> String {
        format!("{}: Invalid value: {}: {why}", self.0, quoted(value))
    }

    /// A list that breaks a rule. An empty list is shown as Go shows one that was never set.
    pub(crate) fn invalid_list(&self, values: &[Text], why: &str) -> String {
        let shown = if values.is_empty() { "null".to_owned() } else { json(values) };
        format!("{}: Invalid value: {shown}: {why}", self.0)
    }

    /// A word that is not one of those known here.
    pub(crate) fn not_supported(&self, word: &str, known: &[&str]) -> String {
        let known: Vec<_> = known.iter().map(|word| quoted(word)).collect();
        let known = known.join(", ");
        let shown = json(word);
        format!("{}: Unsupported value: {shown}: supported values: {known}", self.0)
    }
}

/// A text the way Go's `%q` shows it.
pub(crate) fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\u{7}' => out.push_str("\\a"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{b}' => out.push_str("\\v"),
            c if c.is_ascii_control() => push_escape(&mut out, 'x', 2, c),
            c if c == ' ' || !(c.is_control() || c.is_whitespace()) => out.push(c),
            c if u32::from(c) < 0x1_0000 => push_escape(&mut out, 'u', 4, c),
            c => push_escape(&mut out, 'U', 8, c),
        }
    }
    out.push('"');
    out
}

/// Appends a numeric escape of `width` hexadecimal digits.
fn push_escape(out: &mut String, letter: char, width: usize, c: char) {
    write!(out, "\\{letter}{:0width$x}", u32::from(c)).expect("writing to a String cannot fail");
}

/// A value the way Go's JSON encoder shows it, which escapes `<`, `>` and `&`.
fn json<T: serde::Serialize + ?Sized>(value: &T) -> String {
    serde_json::to_string(value)
        .expect("texts and lists of texts always have a JSON form")
        .replace('<', "\\u003c")
        .replace('>', "\\u003e")
        .replace('&', "\\u0026")
}
