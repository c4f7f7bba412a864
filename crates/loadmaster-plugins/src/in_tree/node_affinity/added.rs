//! The affinity that a profile adds, from its arguments.

use loadmaster_framework::{
    FieldError,
    api::{
        CompiledNodeSelector, CompiledPreferredTerms, NodeSelector, NodeSelectorRequirement,
        NodeSelectorTerm, PreferredSchedulingTerm, Text,
    },
};

use crate::in_tree::args;

/// The required and the preferred part, each if there is one. A required part without terms lets
/// no node through.
pub(super) fn compile(
    args: &args::NodeAffinityArgs,
) -> Result<(Option<CompiledNodeSelector>, Option<CompiledPreferredTerms>), FieldError> {
    let Some(added) = &args.added_affinity else { return Ok((None, None)) };
    let fault = |part: &str, error: loadmaster_framework::api::SelectorError| {
        FieldError::invalid(format!("addedAffinity.{part}"), "", error.to_string())
    };
    let required = added.required.as_ref().map(|it| {
        let terms = it.node_selector_terms.iter().flatten().map(term).collect();
        let selector = NodeSelector { node_selector_terms: terms };
        let name = "requiredDuringSchedulingIgnoredDuringExecution";
        selector.compile_strict("").map_err(|error| fault(name, error))
    });
    let preferred = (!added.preferred.is_empty()).then(|| {
        let terms: Vec<PreferredSchedulingTerm> = added.preferred.iter().map(preferred).collect();
        let name = "preferredDuringSchedulingIgnoredDuringExecution";
        CompiledPreferredTerms::new(&terms, "").map_err(|error| fault(name, error))
    });
    Ok((required.transpose()?, preferred.transpose()?))
}

fn preferred(it: &args::PreferredSchedulingTerm) -> PreferredSchedulingTerm {
    PreferredSchedulingTerm { weight: it.weight, preference: term(&it.preference) }
}

fn term(it: &args::NodeSelectorTerm) -> NodeSelectorTerm {
    NodeSelectorTerm {
        match_expressions: it.match_expressions.iter().map(requirement).collect(),
        match_fields: it.match_fields.iter().map(requirement).collect(),
    }
}

fn requirement(it: &args::NodeSelectorRequirement) -> NodeSelectorRequirement {
    NodeSelectorRequirement {
        key: (&*it.key).into(),
        operator: (&*it.operator).into(),
        values: it.values.iter().map(|value| Text::from(&**value)).collect(),
    }
}
