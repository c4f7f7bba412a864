//! `--feature-gates`: every gate of Kubernetes 1.36 is known, and each that cannot be followed is
//! refused with the reason.
//!
//! Source: component-base, `compatibility/registry.go` and `featuregate/feature_gate.go`; the gates
//! are those that kube-scheduler 1.36 knows, a line each in `gates_1_36.txt`: name, stage, default,
//! and what it is about. `honoured` can be switched here, and so can `serves`, a page; `decides` changes decisions and is fixed
//! at its default, `inner` is about how kube-scheduler does its work, `elsewhere` is about other
//! components.

use loadmaster_framework::{Gates, nearest};

use super::value::boolean;

/// Which features are switched against the defaults of 1.36.
#[derive(Clone, Debug, Default, clap::Args)]
#[command(next_help_heading = "Features")]
pub(crate) struct GateFlags {
    /// Features of 1.36 to switch, as NAME=true,OTHER=false
    #[arg(long, value_name = "NAME=BOOL", value_delimiter = ',')]
    pub(crate) feature_gates: Vec<String>,
}

/// Why a word of `--feature-gates` cannot be followed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum GateError {
    #[error("--feature-gates: {0:?} has no value; write it as {0}=true or {0}=false")]
    NoValue(String),
    #[error("--feature-gates: {name}={value} cannot be read; write {name}=true or {name}=false")]
    NoBoolean { name: String, value: String },
    #[error(
        "--feature-gates: {0:?} is no component of this program; write `kube:NAME=BOOL`, or NAME=BOOL alone"
    )]
    Component(String),
    #[error("--feature-gates: Kubernetes 1.36 has no feature {name}{hint}; leave it out")]
    Unknown { name: String, hint: String },
    #[error("--feature-gates: {name} is locked to {value} in Kubernetes 1.36; leave it out")]
    Locked { name: String, value: bool },
    #[error(
        "--feature-gates: {name} changes decisions and cannot be switched here: pods are scheduled \
         as kube-scheduler 1.36 does with {name}={value}, its default; leave it out"
    )]
    Fixed { name: String, value: bool },
}

impl GateFlags {
    /// Lays what is given over `gates`; a sentence for each that changes nothing here.
    ///
    /// # Errors
    /// The first that cannot be followed.
    pub(crate) fn apply_to(&self, gates: &mut Gates) -> Result<Vec<String>, GateError> {
        let mut notes = Vec::new();
        for word in self.feature_gates.iter().map(|it| it.trim()).filter(|it| !it.is_empty()) {
            let (name, value) = read(word)?;
            notes.extend(switch(gates, name, value)?);
        }
        Ok(notes)
    }

    /// Whether the gate of a page is on.
    pub(crate) fn serves(&self, name: &str) -> bool {
        let mut said = self.feature_gates.iter().filter_map(|it| read(it.trim()).ok());
        let last = said.rfind(|it| it.0 == name);
        last.map_or_else(|| known().any(|it| it.name == name && it.default), |it| it.1)
    }
}

/// The name and the value in a word.
fn read(word: &str) -> Result<(&str, bool), GateError> {
    let (qualified, value) =
        word.split_once('=').ok_or_else(|| GateError::NoValue(word.to_owned()))?;
    let name = match qualified.split_once(':') {
        Some(("kube", name)) => name,
        Some((component, _)) => return Err(GateError::Component(component.to_owned())),
        None => qualified,
    };
    match boolean(value) {
        Ok(value) => Ok((name, value)),
        Err(_) => Err(GateError::NoBoolean { name: name.to_owned(), value: value.to_owned() }),
    }
}

fn switch(gates: &mut Gates, name: &str, value: bool) -> Result<Option<String>, GateError> {
    let Some(gate) = known().find(|it| it.name == name) else {
        return Err(GateError::Unknown { name: name.to_owned(), hint: hint(name) });
    };
    let name = name.to_owned();
    let same = value == gate.default;
    match gate.about {
        _ if gate.locked && !same => Err(GateError::Locked { name, value: gate.default }),
        "honoured" => {
            honour(gates, &name, value);
            Ok(None)
        }
        "serves" => Ok(None),
        _ if same => Ok(None),
        "decides" => Err(GateError::Fixed { name, value: gate.default }),
        "inner" => Ok(Some(format!(
            "the feature gate {name} changes nothing here: it is about how kube-scheduler does its \
             work, not about what it decides"
        ))),
        _ => Ok(Some(format!(
            "the feature gate {name} changes nothing here: it is not about scheduling"
        ))),
    }
}

fn honour(gates: &mut Gates, name: &str, value: bool) {
    if name == "TaintTolerationComparisonOperators" {
        gates.taint_toleration_comparison_operators = value;
    }
}

struct Gate {
    name: &'static str,
    default: bool,
    locked: bool,
    about: &'static str,
}

/// Every gate, and the two that stand for many.
fn known() -> impl Iterator<Item = Gate> {
    let listed = include_str!("gates_1_36.txt").lines().filter_map(|line| {
        let mut words = line.split(' ');
        let (name, _, default, about) =
            (words.next()?, words.next()?, words.next()?, words.next()?);
        Some(Gate {
            name,
            default: default.starts_with("on"),
            locked: default.ends_with("-locked"),
            about,
        })
    });
    let all = |name, default| Gate { name, default, locked: false, about: "decides" };
    listed.chain([all("AllAlpha", false), all("AllBeta", true)])
}

fn hint(name: &str) -> String {
    let nearest = nearest(name, known().map(|it| it.name));
    nearest.map(|it| format!("; did you mean {it}?")).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn applied(text: &str) -> Result<(Gates, Vec<String>), GateError> {
        let flags = GateFlags { feature_gates: text.split(',').map(str::to_owned).collect() };
        let mut gates = Gates::default();
        let notes = flags.apply_to(&mut gates)?;
        Ok((gates, notes))
    }

    fn refusal(text: &str) -> String {
        applied(text).unwrap_err().to_string()
    }

    #[test]
    fn a_gate_that_can_be_switched_is() {
        for text in [
            "TaintTolerationComparisonOperators=true",
            "kube:TaintTolerationComparisonOperators=T",
            "NodeSwap=true,TaintTolerationComparisonOperators=1",
        ] {
            assert!(applied(text).unwrap().0.taint_toleration_comparison_operators, "{text}");
        }
    }

    #[test]
    fn a_page_is_served_unless_its_gate_is_switched_off() {
        let serves = |words: &str| {
            let feature_gates = words.split(',').map(str::to_owned).collect();
            GateFlags { feature_gates }.serves("ComponentFlagz")
        };
        assert!(serves("ComponentStatusz=false"));
        assert!(!serves("ComponentFlagz=true,kube:ComponentFlagz=false"));
        assert_eq!(applied("ComponentFlagz=false").unwrap().1, [""; 0]);
    }

    #[test]
    fn a_gate_that_is_as_it_is_needs_no_word() {
        let (gates, notes) =
            applied("GangScheduling=false,SidecarContainers=true,AllBeta=true").unwrap();
        assert_eq!((gates, notes.len()), (Gates::default(), 0));
    }

    #[test]
    fn a_gate_that_changes_decisions_is_refused_with_the_reason() {
        for (text, word) in [
            ("GangScheduling=true", "GangScheduling=false, its default"),
            ("DRAPartitionableDevices=false", "DRAPartitionableDevices=true, its default"),
            ("AllAlpha=true", "AllAlpha=false, its default"),
            ("SidecarContainers=false", "locked to true"),
            ("wardle:A=true", "\"wardle\" is no component"),
            ("GangScheduling", "write it as GangScheduling=true"),
            ("GangScheduling=yes", "GangScheduling=yes cannot be read"),
        ] {
            let refusal = refusal(text);
            assert!(refusal.contains(word), "{text}: {refusal}");
        }
    }

    #[test]
    fn an_unknown_gate_is_answered_with_the_nearest() {
        let refusal = refusal("TaintTolerationComparisonOperator=true");
        assert!(refusal.contains("did you mean TaintTolerationComparisonOperators?"), "{refusal}");
        assert!(!hint("Foo").contains("mean"));
    }

    #[test]
    fn a_gate_of_other_components_or_of_inner_workings_is_accepted_with_a_word() {
        let (gates, notes) = applied("SchedulerAsyncAPICalls=true,HPAScaleToZero=true").unwrap();
        assert_eq!((gates, notes.len()), (Gates::default(), 2));
        assert!(notes[0].contains("SchedulerAsyncAPICalls"), "{notes:?}");
        assert!(notes[1].contains("HPAScaleToZero"), "{notes:?}");
    }
}
