//! Taints of nodes and the tolerations of pods that answer them.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize};

use super::{Text, null_as_default};

/// What a taint does to pods that do not tolerate it.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub enum Effect {
    /// New pods are kept away.
    NoSchedule,
    /// New pods are kept away where there is a choice.
    PreferNoSchedule,
    /// New pods are kept away, running ones are evicted.
    NoExecute,
    /// A word that the API does not define; it restrains nothing.
    #[default]
    #[serde(other)]
    Unknown,
}

impl fmt::Display for Effect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}

/// A mark on a node that keeps pods away which do not tolerate it.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(default)]
pub struct Taint {
    /// What the taint is about.
    #[serde(deserialize_with = "null_as_default")]
    pub key: Text,
    /// May be empty.
    #[serde(deserialize_with = "null_as_default")]
    pub value: Text,
    /// What happens to pods that do not tolerate it.
    #[serde(deserialize_with = "null_as_default")]
    pub effect: Effect,
}

/// How a toleration's value is compared with a taint's.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub enum TolerationOperator {
    /// The values are the same; an absent or empty operator means this.
    #[default]
    #[serde(alias = "")]
    Equal,
    /// Any value will do.
    Exists,
    /// The taint's value is the lower number (KEP-5471). Behind a gate that is off in 1.36: it
    /// never matches.
    Lt,
    /// The taint's value is the greater number (KEP-5471). Never matches, like [`Self::Lt`].
    Gt,
    /// A word that the API does not define; it never matches.
    #[serde(other)]
    Unknown,
}

/// A pod's statement that it accepts certain taints.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(default)]
pub struct Toleration {
    /// The taint's key; empty stands for every key.
    #[serde(deserialize_with = "null_as_default")]
    pub key: Text,
    /// How `value` is compared.
    #[serde(deserialize_with = "null_as_default")]
    pub operator: TolerationOperator,
    /// Compared with the taint's value.
    #[serde(deserialize_with = "null_as_default")]
    pub value: Text,
    /// The taint's effect; none stands for every effect.
    #[serde(deserialize_with = "empty_as_none", skip_serializing_if = "Option::is_none")]
    pub effect: Option<Effect>,
}

impl Toleration {
    /// Whether this toleration accepts `taint`, with upstream's rules and its gates' defaults.
    ///
    /// As upstream, an empty key with operator `Equal` (which the API refuses) compares values
    /// alone.
    pub fn tolerates(&self, taint: &Taint) -> bool {
        self.effect.is_none_or(|effect| effect == taint.effect)
            && (self.key.is_empty() || self.key == taint.key)
            && match self.operator {
                TolerationOperator::Equal => self.value == taint.value,
                TolerationOperator::Exists => true,
                TolerationOperator::Lt | TolerationOperator::Gt | TolerationOperator::Unknown => {
                    false
                }
            }
    }
}

/// Whether one of `tolerations` accepts `taint`.
pub fn tolerations_tolerate_taint(tolerations: &[Toleration], taint: &Taint) -> bool {
    tolerations.iter().any(|toleration| toleration.tolerates(taint))
}

/// The first of those taints that `included` lets through which no toleration accepts.
pub fn find_matching_untolerated_taint<'taint>(
    taints: &'taint [Taint],
    tolerations: &[Toleration],
    included: impl Fn(&Taint) -> bool,
) -> Option<&'taint Taint> {
    taints
        .iter()
        .filter(|taint| included(taint))
        .find(|taint| !tolerations_tolerate_taint(tolerations, taint))
}

/// Reads an effect of which an absent, `null` or empty one stands for all.
fn empty_as_none<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Effect>, D::Error> {
    #[derive(Deserialize)]
    enum Named {
        #[serde(rename = "")]
        Every,
        NoSchedule,
        PreferNoSchedule,
        NoExecute,
        #[serde(other)]
        Unknown,
    }
    Ok(match Option::<Named>::deserialize(from)? {
        None | Some(Named::Every) => None,
        Some(Named::NoSchedule) => Some(Effect::NoSchedule),
        Some(Named::PreferNoSchedule) => Some(Effect::PreferNoSchedule),
        Some(Named::NoExecute) => Some(Effect::NoExecute),
        Some(Named::Unknown) => Some(Effect::Unknown),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn toleration(json: &str) -> Toleration {
        serde_json::from_str(json).unwrap()
    }

    fn taint(json: &str) -> Taint {
        serde_json::from_str(json).unwrap()
    }

    #[test]
    fn a_toleration_accepts_what_its_key_operator_value_and_effect_say() {
        // Each row: toleration, taint, whether it is accepted.
        let dedicated = r#"{"key":"dedicated","value":"db","effect":"NoSchedule"}"#;
        for (accepts, it) in [
            (true, r#"{"key":"dedicated","operator":"Equal","value":"db","effect":"NoSchedule"}"#),
            (true, r#"{"key":"dedicated","value":"db"}"#),
            (true, r#"{"key":"dedicated","operator":"","value":"db","effect":""}"#),
            (true, r#"{"key":"dedicated","operator":null,"value":"db","effect":null}"#),
            (true, r#"{"key":"dedicated","operator":"Exists"}"#),
            (true, r#"{"operator":"Exists"}"#),
            (true, r#"{"operator":"Equal","value":"db"}"#),
            (false, r#"{"key":"dedicated","value":"web"}"#),
            (false, r#"{"key":"dedicated","operator":"Exists","effect":"NoExecute"}"#),
            (false, r#"{"key":"other","operator":"Exists"}"#),
            (false, r#"{"key":"dedicated","operator":"In","value":"db"}"#),
            (false, r#"{"key":"dedicated","operator":"Exists","effect":"NoSuchEffect"}"#),
            (false, "{}"),
        ] {
            assert_eq!(toleration(it).tolerates(&taint(dedicated)), accepts, "{it}");
        }
    }

    #[test]
    fn numeric_operators_never_match_while_their_gate_is_off() {
        let five = taint(r#"{"key":"sla","value":"5","effect":"NoSchedule"}"#);
        for it in [
            r#"{"key":"sla","operator":"Gt","value":"1"}"#,
            r#"{"key":"sla","operator":"Lt","value":"9"}"#,
        ] {
            assert!(!toleration(it).tolerates(&five), "{it}");
        }
    }

    #[test]
    fn the_first_untolerated_taint_among_those_asked_for_is_found() {
        let taints = [
            taint(r#"{"key":"soft","effect":"PreferNoSchedule"}"#),
            taint(r#"{"key":"a","effect":"NoSchedule"}"#),
            taint(r#"{"key":"b","effect":"NoExecute"}"#),
        ];
        let tolerations = [toleration(r#"{"key":"a","operator":"Exists"}"#)];
        let hard = |it: &Taint| matches!(it.effect, Effect::NoSchedule | Effect::NoExecute);
        let found = find_matching_untolerated_taint(&taints, &tolerations, hard);
        assert_eq!(found, Some(&taints[2]));
        let everything = [toleration(r#"{"operator":"Exists"}"#)];
        assert_eq!(find_matching_untolerated_taint(&taints, &everything, |_| true), None);
    }

    #[test]
    fn an_effect_that_the_api_does_not_define_is_read_and_written_without_harm() {
        let odd = taint(r#"{"key":"k","effect":"Banish","timeAdded":"2026-01-01T00:00:00Z"}"#);
        assert_eq!(odd.effect, Effect::Unknown);
        assert_eq!(toleration(r#"{"effect":""}"#).effect, None);
        let back = serde_json::to_string(&toleration("{}")).unwrap();
        assert_eq!(back, r#"{"key":"","operator":"Equal","value":""}"#);
    }
}
