//! A pod with what is derived from it once: its requests and its compiled affinity terms.

use std::{ops::Deref, sync::Arc};

use crate::api::{
    LabelSelector, Labels, Pod, PodAffinityTerm, PodResources, Selector, SelectorError, Text,
    WeightedPodAffinityTerm,
};

/// A pod, with what is derived from it once and read many times.
#[derive(Clone, Debug)]
pub struct PodInfo {
    pod: Arc<Pod>,
    resources: PodResources,
    terms: Option<Box<Terms>>,
}

#[derive(Clone, Debug, Default)]
struct Terms {
    required_affinity: Vec<AffinityTerm>,
    required_anti_affinity: Vec<AffinityTerm>,
    preferred_affinity: Vec<WeightedAffinityTerm>,
    preferred_anti_affinity: Vec<WeightedAffinityTerm>,
    error: Option<String>,
}

impl PodInfo {
    /// Derives what is needed of `pod`. Of a list of affinity terms in which a selector is wrong
    /// none is kept, and [`PodInfo::affinity_error`] tells why.
    pub fn new(pod: Arc<Pod>) -> Self {
        let resources = PodResources::of(&pod);
        let terms = Terms::of(&pod).map(Box::new);
        Self { pod, resources, terms }
    }

    /// The pod itself.
    pub fn pod(&self) -> &Arc<Pod> {
        &self.pod
    }

    /// What the pod takes of a node.
    pub fn resources(&self) -> &PodResources {
        &self.resources
    }

    /// Whether the pod has pod affinity or anti-affinity of any kind.
    pub fn has_affinity(&self) -> bool {
        self.pod
            .spec
            .affinity
            .as_ref()
            .is_some_and(|it| it.pod_affinity.is_some() || it.pod_anti_affinity.is_some())
    }

    /// Whether the pod has required anti-affinity.
    pub fn has_required_anti_affinity(&self) -> bool {
        let affinity = self.pod.spec.affinity.as_ref();
        affinity
            .and_then(|it| it.pod_anti_affinity.as_ref())
            .is_some_and(|it| !it.required.is_empty())
    }

    /// Required affinity, in manifest order.
    pub fn required_affinity_terms(&self) -> &[AffinityTerm] {
        self.terms.as_ref().map_or(&[], |it| &it.required_affinity)
    }

    /// Required anti-affinity, in manifest order.
    pub fn required_anti_affinity_terms(&self) -> &[AffinityTerm] {
        self.terms.as_ref().map_or(&[], |it| &it.required_anti_affinity)
    }

    /// Preferred affinity, in manifest order.
    pub fn preferred_affinity_terms(&self) -> &[WeightedAffinityTerm] {
        self.terms.as_ref().map_or(&[], |it| &it.preferred_affinity)
    }

    /// Preferred anti-affinity, in manifest order.
    pub fn preferred_anti_affinity_terms(&self) -> &[WeightedAffinityTerm] {
        self.terms.as_ref().map_or(&[], |it| &it.preferred_anti_affinity)
    }

    /// What is wrong with the pod's affinity terms, if anything is.
    pub fn affinity_error(&self) -> Option<&str> {
        self.terms.as_ref().and_then(|it| it.error.as_deref())
    }
}

impl Deref for PodInfo {
    type Target = Pod;

    fn deref(&self) -> &Pod {
        &self.pod
    }
}

/// A compiled pod affinity term.
#[derive(Clone, Debug)]
pub struct AffinityTerm {
    /// Namespaces named by the term, or the pod's own where it names none and has no selector.
    pub namespaces: Vec<Text>,
    /// Which pods in them.
    pub selector: Selector,
    /// The node label within whose value pods count as near.
    pub topology_key: Text,
    /// Also pods in namespaces with these labels; matches nothing where the term has none.
    pub namespace_selector: Selector,
}

impl AffinityTerm {
    fn of(pod: &Pod, term: &PodAffinityTerm) -> Result<Self, SelectorError> {
        let compile = |it: &Option<LabelSelector>| LabelSelector::compile_optional(it.as_ref());
        let own = term.namespaces.is_empty() && term.namespace_selector.is_none();
        Ok(Self {
            namespaces: if own { vec![pod.namespace().clone()] } else { term.namespaces.clone() },
            selector: compile(&term.label_selector)?,
            topology_key: term.topology_key.clone(),
            namespace_selector: compile(&term.namespace_selector)?,
        })
    }

    /// Whether `pod` is one of the pods that the term is about; `namespace_labels` are those of the
    /// pod's namespace.
    pub fn matches(&self, pod: &Pod, namespace_labels: &Labels) -> bool {
        let namespace = self.namespaces.iter().any(|it| it == pod.namespace())
            || self.namespace_selector.matches(namespace_labels);
        namespace && self.selector.matches(&pod.metadata.labels)
    }
}

/// A compiled term with its weight.
#[derive(Clone, Debug)]
pub struct WeightedAffinityTerm {
    /// The term.
    pub term: AffinityTerm,
    /// 1..=100.
    pub weight: i32,
}

impl Terms {
    fn of(pod: &Pod) -> Option<Self> {
        let affinity = pod.spec.affinity.as_ref()?;
        if affinity.pod_affinity.is_none() && affinity.pod_anti_affinity.is_none() {
            return None;
        }
        let sides = [&affinity.pod_affinity, &affinity.pod_anti_affinity];
        let [near, far] = sides.map(|it| it.as_ref().map_or(&[][..], |it| &it.required));
        let mut errors = Vec::new();
        let mut note = |list: &str, error: SelectorError| errors.push(format!("{list}: {error}"));
        let mut required = |list: &str, terms: &[PodAffinityTerm]| {
            let terms = terms.iter().map(|term| AffinityTerm::of(pod, term));
            terms.collect::<Result<_, _>>().unwrap_or_else(|error| {
                note(list, error);
                Vec::new()
            })
        };
        let required_affinity = required("requiredAffinityTerms", near);
        let required_anti_affinity = required("requiredAntiAffinityTerms", far);
        let [near, far] = sides.map(|it| it.as_ref().map_or(&[][..], |it| &it.preferred));
        let mut preferred = |list: &str, terms: &[WeightedPodAffinityTerm]| {
            let terms = terms.iter().map(|it| {
                let term = AffinityTerm::of(pod, &it.pod_affinity_term)?;
                Ok(WeightedAffinityTerm { term, weight: it.weight })
            });
            terms.collect::<Result<_, _>>().unwrap_or_else(|error| {
                note(list, error);
                Vec::new()
            })
        };
        let preferred_affinity = preferred("preferredAffinityTerms", near);
        let preferred_anti_affinity = preferred("preferredAntiAffinityTerms", far);
        let error = match errors.len() {
            0 => None,
            1 => errors.pop(),
            _ => Some(format!("[{}]", errors.join(", "))),
        };
        Some(Self {
            required_affinity,
            required_anti_affinity,
            preferred_affinity,
            preferred_anti_affinity,
            error,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_with_a_wrong_selector_is_dropped_and_named() {
        let term = |operator: &str| {
            serde_json::json!({
                "topologyKey": "zone",
                "labelSelector": {"matchExpressions": [{"key": "app", "operator": operator}]},
            })
        };
        let required = "requiredDuringSchedulingIgnoredDuringExecution";
        let preferred = "preferredDuringSchedulingIgnoredDuringExecution";
        let pod = serde_json::json!({"spec": {"affinity": {
            "podAffinity": {required: [term("Exists"), term("Near")]},
            "podAntiAffinity": {
                required: [term("Exists")],
                preferred: [{"weight": 1, "podAffinityTerm": term("Far")}],
            },
        }}});
        let info = PodInfo::new(Arc::new(serde_json::from_value(pod).unwrap()));
        assert!(info.required_affinity_terms().is_empty());
        assert_eq!(info.required_anti_affinity_terms().len(), 1);
        assert_eq!(
            info.affinity_error(),
            Some(
                "[requiredAffinityTerms: \"Near\" is not a valid label selector operator, \
                 preferredAntiAffinityTerms: \"Far\" is not a valid label selector operator]"
            )
        );
    }
}
