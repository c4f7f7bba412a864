//! Label selectors: decoded from the API, compiled once, asked many times.

mod error;
mod validate;

#[cfg(test)]
mod tests;

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

pub use error::SelectorError;
pub(crate) use error::{Field, quoted};
pub(crate) use validate::label_key_errors;

use super::{Labels, Text, null_as_default};

/// One entry of `matchExpressions`, as written in the API.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(default)]
pub struct LabelSelectorRequirement {
    /// The label looked at.
    #[serde(deserialize_with = "null_as_default")]
    pub key: Text,
    /// `In`, `NotIn`, `Exists` or `DoesNotExist`; any other word fails to compile.
    #[serde(deserialize_with = "null_as_default")]
    pub operator: Text,
    /// For `In` and `NotIn`.
    #[serde(deserialize_with = "null_as_default")]
    pub values: Vec<Text>,
}

/// A selector of objects by their labels, as written in the API.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct LabelSelector {
    /// Labels that must be there with these values.
    pub match_labels: Labels,
    /// Further requirements; all must hold.
    #[serde(deserialize_with = "null_as_default")]
    pub match_expressions: Vec<LabelSelectorRequirement>,
}

impl LabelSelector {
    /// Checks and prepares the selector (upstream: `LabelSelectorAsSelector`). One without any
    /// requirement selects everything; for a selector that is absent use
    /// [`compile_optional`](Self::compile_optional).
    ///
    /// # Errors
    /// With upstream's text when an operator is unknown, a key or value is not a label's, or an
    /// operator has too few or too many values. As upstream, only the first bad entry is named.
    pub fn compile(&self) -> Result<Selector, SelectorError> {
        let root = Field::root();
        let mut requirements =
            Vec::with_capacity(self.match_labels.len() + self.match_expressions.len());
        for (key, value) in &self.match_labels {
            let values = std::slice::from_ref(value);
            requirements.push(Requirement::new(key, Operator::Equals, values, &root)?);
        }
        for expression in &self.match_expressions {
            let operator = match &*expression.operator {
                "In" => Operator::In,
                "NotIn" => Operator::NotIn,
                "Exists" => Operator::Exists,
                "DoesNotExist" => Operator::DoesNotExist,
                other => {
                    let what = quoted(other);
                    return Err(SelectorError::new(format!(
                        "{what} is not a valid label selector operator"
                    )));
                }
            };
            let (key, values) = (&expression.key, &expression.values);
            requirements.push(Requirement::new(key, operator, values, &root)?);
        }
        Ok(Selector::from_requirements(requirements))
    }

    /// [`compile`](Self::compile), where an absent selector selects nothing.
    ///
    /// # Errors
    /// As [`compile`](Self::compile).
    pub fn compile_optional(selector: Option<&Self>) -> Result<Selector, SelectorError> {
        selector.map_or_else(|| Ok(Selector::nothing()), Self::compile)
    }
}

/// How a requirement relates a label to its values (upstream: `selection.Operator`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Operator {
    /// There, with one of the values.
    In,
    /// Absent, or with a value that is not listed.
    NotIn,
    /// There, with the one value.
    Equals,
    /// There, with any value.
    Exists,
    /// Absent.
    DoesNotExist,
    /// There, and an integer above the one value.
    GreaterThan,
    /// There, and an integer below the one value.
    LessThan,
}

/// What a requirement asks of a label's value, its operands checked.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Test {
    In(Arc<[Text]>),
    NotIn(Arc<[Text]>),
    Equals(Text),
    Exists,
    DoesNotExist,
    GreaterThan(i64),
    LessThan(i64),
}

/// One checked condition on one label.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Requirement {
    key: Text,
    test: Test,
}

impl Requirement {
    /// Checks key, number and form of the values (upstream: `labels.NewRequirement`). `at` is the
    /// field that errors are reported under.
    pub(crate) fn new(
        key: &Text,
        operator: Operator,
        values: &[Text],
        at: &Field,
    ) -> Result<Self, SelectorError> {
        let mut errors = Vec::new();
        let key_errors = label_key_errors(key);
        if !key_errors.is_empty() {
            errors.push(at.child("key").invalid_text(key, &key_errors.join("; ")));
        }
        let test = Self::test(operator, values, &at.child("values"), &mut errors);
        for (index, value) in values.iter().enumerate() {
            let value_errors = validate::label_value_errors(value);
            if !value_errors.is_empty() {
                let at = at.child("values").index(index).index(key);
                errors.push(at.invalid_text(value, &value_errors.join("; ")));
            }
        }
        match (test, SelectorError::from_messages(errors)) {
            (_, Some(error)) => Err(error),
            (test, None) => Ok(Self { key: key.clone(), test }),
        }
    }

    /// The test that `operator` makes of `values`; what is wrong with their number or form is
    /// added to `errors`, and the test then means nothing.
    fn test(operator: Operator, values: &[Text], at: &Field, errors: &mut Vec<String>) -> Test {
        let first = values.first().cloned().unwrap_or_default();
        match operator {
            Operator::In | Operator::NotIn => {
                if values.is_empty() {
                    let why = "for 'in', 'notin' operators, values set can't be empty";
                    errors.push(at.invalid_list(values, why));
                }
                let values = values.into();
                if operator == Operator::In { Test::In(values) } else { Test::NotIn(values) }
            }
            Operator::Equals => {
                if values.len() != 1 {
                    let why = "exact-match compatibility requires one single value";
                    errors.push(at.invalid_list(values, why));
                }
                Test::Equals(first)
            }
            Operator::Exists | Operator::DoesNotExist => {
                if !values.is_empty() {
                    let why = "values set must be empty for exists and does not exist";
                    errors.push(at.invalid_list(values, why));
                }
                if operator == Operator::Exists { Test::Exists } else { Test::DoesNotExist }
            }
            Operator::GreaterThan | Operator::LessThan => {
                if values.len() != 1 {
                    let why = "for 'Gt', 'Lt' operators, exactly one value is required";
                    errors.push(at.invalid_list(values, why));
                }
                for (index, value) in values.iter().enumerate() {
                    if value.parse::<i64>().is_err() {
                        let why = "for 'Gt', 'Lt' operators, the value must be an integer";
                        errors.push(at.index(index).invalid_text(value, why));
                    }
                }
                let bound = first.parse().unwrap_or(0);
                if operator == Operator::GreaterThan {
                    Test::GreaterThan(bound)
                } else {
                    Test::LessThan(bound)
                }
            }
        }
    }

    /// The label looked at.
    pub fn key(&self) -> &Text {
        &self.key
    }

    /// How the label is looked at.
    pub fn operator(&self) -> Operator {
        match self.test {
            Test::In(_) => Operator::In,
            Test::NotIn(_) => Operator::NotIn,
            Test::Equals(_) => Operator::Equals,
            Test::Exists => Operator::Exists,
            Test::DoesNotExist => Operator::DoesNotExist,
            Test::GreaterThan(_) => Operator::GreaterThan,
            Test::LessThan(_) => Operator::LessThan,
        }
    }

    /// Whether `labels` fulfil the requirement. `NotIn` and `DoesNotExist` hold for an absent key.
    pub fn matches(&self, labels: &Labels) -> bool {
        let value = labels.get(&self.key);
        let number = || value.and_then(|value| value.parse::<i64>().ok());
        match &self.test {
            Test::In(values) => value.is_some_and(|value| values.contains(value)),
            Test::NotIn(values) => value.is_none_or(|value| !values.contains(value)),
            Test::Equals(wanted) => value == Some(wanted),
            Test::Exists => value.is_some(),
            Test::DoesNotExist => value.is_none(),
            Test::GreaterThan(bound) => number().is_some_and(|number| number > *bound),
            Test::LessThan(bound) => number().is_some_and(|number| number < *bound),
        }
    }
}

impl fmt::Display for Requirement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let key = &self.key;
        let list = |values: &[Text]| {
            let mut sorted: Vec<&str> = values.iter().map(|value| &**value).collect();
            sorted.sort_unstable();
            sorted.join(",")
        };
        match &self.test {
            Test::In(values) => write!(f, "{key} in ({})", list(values)),
            Test::NotIn(values) => write!(f, "{key} notin ({})", list(values)),
            Test::Equals(value) => write!(f, "{key}={value}"),
            Test::Exists => write!(f, "{key}"),
            Test::DoesNotExist => write!(f, "!{key}"),
            Test::GreaterThan(bound) => write!(f, "{key}>{bound}"),
            Test::LessThan(bound) => write!(f, "{key}<{bound}"),
        }
    }
}

/// A checked label selector, cheap to clone and fit to be (part of) a key: two selectors with the
/// same requirements are equal.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Selector(Kind);

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Kind {
    Nothing,
    /// In key order.
    All(Arc<[Requirement]>),
}

impl Selector {
    /// Selects every set of labels, the empty one too.
    pub fn everything() -> Self {
        Self(Kind::All(Arc::default()))
    }

    /// Selects no set of labels.
    pub fn nothing() -> Self {
        Self(Kind::Nothing)
    }

    /// Selects what has all of `labels`, unchecked (upstream: `labels.SelectorFromSet`).
    pub fn from_labels(labels: &Labels) -> Self {
        let equals = |(key, value): &(Text, Text)| Requirement {
            key: key.clone(),
            test: Test::Equals(value.clone()),
        };
        Self(Kind::All(labels.iter().map(equals).collect()))
    }

    /// Selects what fulfils all of `requirements`.
    pub fn from_requirements(requirements: impl IntoIterator<Item = Requirement>) -> Self {
        let mut requirements: Vec<_> = requirements.into_iter().collect();
        requirements.sort_by(|a, b| a.key.cmp(&b.key));
        Self(Kind::All(requirements.into()))
    }

    /// A selector that also asks for `requirements`; one that selects nothing stays so.
    #[must_use]
    pub fn and(&self, requirements: impl IntoIterator<Item = Requirement>) -> Self {
        match &self.0 {
            Kind::Nothing => Self::nothing(),
            Kind::All(own) => Self::from_requirements(own.iter().cloned().chain(requirements)),
        }
    }

    /// The requirements in key order; none when nothing is selected.
    pub fn requirements(&self) -> Option<&[Requirement]> {
        match &self.0 {
            Kind::Nothing => None,
            Kind::All(requirements) => Some(requirements),
        }
    }

    /// Whether an object with these labels is selected.
    pub fn matches(&self, labels: &Labels) -> bool {
        match &self.0 {
            Kind::Nothing => false,
            Kind::All(requirements) => requirements.iter().all(|it| it.matches(labels)),
        }
    }

    /// Whether everything is selected (upstream: `Empty`).
    pub fn is_empty(&self) -> bool {
        matches!(&self.0, Kind::All(requirements) if requirements.is_empty())
    }

    /// Whether this is [`nothing`](Self::nothing).
    pub fn is_nothing(&self) -> bool {
        matches!(self.0, Kind::Nothing)
    }
}

impl fmt::Display for Selector {
    /// Upstream's notation, `a=b,c in (d,e),!f`; empty for everything and for nothing.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, requirement) in self.requirements().unwrap_or_default().iter().enumerate() {
            if index > 0 {
                f.write_str(",")?;
            }
            requirement.fmt(f)?;
        }
        Ok(())
    }
}
