//! Label selectors, in the text form of query parameters and in the object form of specs.
//!
//! Source: apimachinery `labels/selector.go` 1.36; the error texts are the same.

use serde_json::{Map, Value};

/// A conjunction of requirements on labels; the empty one matches everything.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LabelSelector {
    requirements: Vec<Requirement>,
    nothing: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Requirement {
    key: String,
    test: Test,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Test {
    In(Vec<String>),
    NotIn(Vec<String>),
    Exists,
    Missing,
    Greater(i64),
    Less(i64),
}

impl LabelSelector {
    /// Reads `a=b,c!=d,e in (f,g),!h,i>2`.
    ///
    /// # Errors
    /// The text that kube-apiserver answers with.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut parser = Parser { tokens: tokens(text), at: 0 };
        let mut requirements = parser.requirements()?;
        requirements.sort_by(|a, b| a.key.cmp(&b.key));
        Ok(Self { requirements, nothing: false })
    }

    /// Reads a `LabelSelector` object (`matchLabels`, `matchExpressions`); a missing one matches
    /// nothing, an empty one everything. An operator that no validation lets pass matches nothing.
    pub fn from_object(selector: &Value) -> Self {
        let Some(selector) = selector.as_object() else {
            return Self { requirements: Vec::new(), nothing: true };
        };
        let mut parsed = Self::from_map(selector.get("matchLabels").and_then(Value::as_object));
        for expression in
            selector.get("matchExpressions").and_then(Value::as_array).into_iter().flatten()
        {
            let key = expression["key"].as_str().unwrap_or_default().to_owned();
            let values = || -> Vec<String> {
                let values = expression["values"].as_array().into_iter().flatten();
                values.filter_map(Value::as_str).map(str::to_owned).collect()
            };
            let test = match expression["operator"].as_str().unwrap_or_default() {
                "In" => Test::In(values()),
                "NotIn" => Test::NotIn(values()),
                "Exists" => Test::Exists,
                "DoesNotExist" => Test::Missing,
                _ => {
                    parsed.nothing = true;
                    continue;
                }
            };
            parsed.requirements.push(Requirement { key, test });
        }
        parsed
    }

    /// Reads the plain map of services and replication controllers; none matches everything.
    pub fn from_map(labels: Option<&Map<String, Value>>) -> Self {
        let requirements = labels
            .into_iter()
            .flatten()
            .map(|(key, value)| Requirement {
                key: key.clone(),
                test: Test::In(vec![value.as_str().unwrap_or_default().to_owned()]),
            })
            .collect();
        Self { requirements, nothing: false }
    }

    /// Whether every object matches.
    pub fn is_everything(&self) -> bool {
        self.requirements.is_empty() && !self.nothing
    }

    /// Whether the object's `metadata.labels` match.
    pub fn matches(&self, object: &Value) -> bool {
        self.matches_labels(&object["metadata"]["labels"])
    }

    /// Whether a map of labels matches; anything else counts as no labels.
    pub fn matches_labels(&self, labels: &Value) -> bool {
        !self.nothing && self.requirements.iter().all(|it| it.matches(labels.get(&it.key)))
    }
}

impl Requirement {
    fn matches(&self, value: Option<&Value>) -> bool {
        let value = value.and_then(Value::as_str);
        let number = || value.and_then(|it| it.parse::<i64>().ok());
        match &self.test {
            Test::In(values) => value.is_some_and(|it| values.iter().any(|wanted| wanted == it)),
            Test::NotIn(values) => {
                !value.is_some_and(|it| values.iter().any(|wanted| wanted == it))
            }
            Test::Exists => value.is_some(),
            Test::Missing => value.is_none(),
            Test::Greater(bound) => number().is_some_and(|it| it > *bound),
            Test::Less(bound) => number().is_some_and(|it| it < *bound),
        }
    }
}

/// A selector in the text form, for the `Scale` subresource.
impl std::fmt::Display for LabelSelector {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (index, Requirement { key, test }) in self.requirements.iter().enumerate() {
            let comma = if index == 0 { "" } else { "," };
            match test {
                Test::In(values) if values.len() == 1 => write!(f, "{comma}{key}={}", values[0])?,
                Test::In(values) => write!(f, "{comma}{key} in ({})", values.join(","))?,
                Test::NotIn(values) => write!(f, "{comma}{key} notin ({})", values.join(","))?,
                Test::Exists => write!(f, "{comma}{key}")?,
                Test::Missing => write!(f, "{comma}!{key}")?,
                Test::Greater(bound) => write!(f, "{comma}{key}>{bound}")?,
                Test::Less(bound) => write!(f, "{comma}{key}<{bound}")?,
            }
        }
        Ok(())
    }
}

const SYMBOLS: &[char] = &['(', ')', ',', '!', '=', '<', '>'];

/// Identifiers and operators; `==` and `!=` are one token each.
fn tokens(text: &str) -> Vec<String> {
    let mut tokens = Vec::new();
    let mut rest = text.trim_start();
    while let Some(first) = rest.chars().next() {
        let length = if SYMBOLS.contains(&first) {
            if rest.starts_with("==") || rest.starts_with("!=") { 2 } else { 1 }
        } else {
            let end = |c: char| c.is_whitespace() || SYMBOLS.contains(&c);
            rest.find(end).unwrap_or(rest.len())
        };
        tokens.push(rest[..length].to_owned());
        rest = rest[length..].trim_start();
    }
    tokens
}

struct Parser {
    tokens: Vec<String>,
    at: usize,
}

impl Parser {
    fn peek(&self) -> &str {
        self.tokens.get(self.at).map_or("", String::as_str)
    }

    fn take(&mut self) -> String {
        let token = self.peek().to_owned();
        self.at += 1;
        token
    }

    fn requirements(&mut self) -> Result<Vec<Requirement>, String> {
        let mut found = Vec::new();
        if self.peek().is_empty() {
            return Ok(found);
        }
        loop {
            if !is_identifier(self.peek()) && self.peek() != "!" {
                return Err(self.no_key());
            }
            found.push(
                self.requirement().map_err(|it| format!("unable to parse requirement: {it}"))?,
            );
            match self.take().as_str() {
                "" => return Ok(found),
                "," if is_identifier(self.peek()) || self.peek() == "!" => {}
                "," => {
                    return Err(format!("found '{}', expected: identifier after ','", self.peek()));
                }
                other => return Err(format!("found '{other}', expected: ',' or 'end of string'")),
            }
        }
    }

    fn requirement(&mut self) -> Result<Requirement, String> {
        if self.peek() == "!" {
            self.at += 1;
            let key = self.key()?;
            return Ok(Requirement { key, test: Test::Missing });
        }
        let key = self.key()?;
        let test = match self.peek() {
            "" | "," => Test::Exists,
            "=" | "==" => {
                self.at += 1;
                Test::In(vec![self.exact_value()])
            }
            "!=" => {
                self.at += 1;
                Test::NotIn(vec![self.exact_value()])
            }
            operator @ (">" | "<") => {
                let greater = operator == ">";
                self.at += 1;
                let value = self.exact_value();
                let bound = value.parse().map_err(|_| {
                    format!("for 'Gt', 'Lt' operators, the value must be an integer: {value:?}")
                })?;
                if greater { Test::Greater(bound) } else { Test::Less(bound) }
            }
            "in" => {
                self.at += 1;
                Test::In(self.values()?)
            }
            "notin" => {
                self.at += 1;
                Test::NotIn(self.values()?)
            }
            other => {
                return Err(format!("found '{other}', expected: in, notin, =, ==, !=, gt, lt"));
            }
        };
        Ok(Requirement { key, test })
    }

    fn key(&mut self) -> Result<String, String> {
        if is_identifier(self.peek()) {
            return Ok(self.take());
        }
        Err(self.no_key())
    }

    fn no_key(&self) -> String {
        format!("found '{}', expected: !, identifier, or 'end of string'", self.peek())
    }

    fn exact_value(&mut self) -> String {
        if is_identifier(self.peek()) { self.take() } else { String::new() }
    }

    fn values(&mut self) -> Result<Vec<String>, String> {
        if self.take() != "(" {
            self.at -= 1;
            return Err(format!("found '{}' expected: '('", self.peek()));
        }
        let mut values = Vec::new();
        loop {
            values.push(self.exact_value());
            match self.take().as_str() {
                ")" => return Ok(values),
                "," => {}
                other => return Err(format!("found '{other}', expected: ',' or ')'")),
            }
        }
    }
}

fn is_identifier(token: &str) -> bool {
    token.chars().next().is_some_and(|it| !SYMBOLS.contains(&it))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn matches(selector: &str, labels: &Value) -> bool {
        let object = json!({"metadata": {"labels": labels}});
        LabelSelector::parse(selector).unwrap().matches(&object)
    }

    #[test]
    fn every_operator_of_the_text_form_selects() {
        let labels = json!({"even": "true", "i": "3"});
        for selector in [
            "",
            "even=true",
            "even==true",
            "even!=false",
            "even in (true,x)",
            "even notin (no)",
            "even",
            "!odd",
            "i>2",
            "i<4",
            "i in (1, 3) , even = true",
            "other!=x",
        ] {
            assert!(matches(selector, &labels), "{selector}");
        }
        for selector in [
            "even=",
            "even!=true",
            "even in (x)",
            "even notin (true)",
            "!even",
            "odd",
            "i>3",
            "i<3",
            "even>1",
            "even=true,odd",
            "x in ()",
        ] {
            assert!(!matches(selector, &labels), "{selector}");
        }
    }

    #[test]
    fn syntax_errors_are_told_in_the_servers_words() {
        assert_eq!(
            LabelSelector::parse("a b").unwrap_err(),
            "unable to parse requirement: found 'b', expected: in, notin, =, ==, !=, gt, lt"
        );
        assert_eq!(
            LabelSelector::parse("=").unwrap_err(),
            "found '=', expected: !, identifier, or 'end of string'"
        );
        assert!(LabelSelector::parse("a,").is_err());
        assert!(LabelSelector::parse("a in (b").is_err());
        assert!(LabelSelector::parse("a>x").is_err());
    }

    #[test]
    fn the_object_form_selects_and_a_missing_selector_matches_nothing() {
        let object = json!({"metadata": {"labels": {"app": "x"}}});
        let selects = |selector: Value| LabelSelector::from_object(&selector).matches(&object);
        assert!(selects(json!({"matchLabels": {"app": "x"}})));
        assert!(selects(json!({})));
        assert!(!selects(Value::Null));
        assert!(!selects(
            json!({"matchExpressions": [{"key": "app", "operator": "DoesNotExist"}]})
        ));
        assert!(selects(json!({"matchExpressions": [
            {"key": "app", "operator": "In", "values": ["x", "y"]}]})));
    }

    #[test]
    fn the_text_of_a_selector_reads_back_as_the_same() {
        for text in ["a=b,c in (d,e),!f,g>1", ""] {
            let selector = LabelSelector::parse(text).unwrap();
            assert_eq!(LabelSelector::parse(&selector.to_string()).unwrap(), selector);
        }
    }
}
