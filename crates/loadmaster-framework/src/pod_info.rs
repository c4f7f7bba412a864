//! A pod with what is derived from it once: its requests and its compiled affinity terms.

use std::{ops::Deref, sync::Arc};

use crate::api::{LabelSelector, Labels, Pod, PodAffinityTerm, PodResources, Selector, Text};

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
    /// Derives what is needed of `pod`. Affinity terms whose selector is wrong are left out, and
    /// [`PodInfo::affinity_error`] tells of them.
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
    fn of(pod: &Pod, term: &PodAffinityTerm) -> Result<Self, String> {
        let compile = |selector: &Option<LabelSelector>| match selector {
            Some(selector) => selector.compile().map_err(|error| error.to_string()),
            None => Ok(Selector::nothing()),
        };
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
        let mut all = Self::default();
        let mut errors = Vec::new();
        let mut required = |terms: &[PodAffinityTerm], into: &mut Vec<AffinityTerm>| {
            for term in terms {
                match AffinityTerm::of(pod, term) {
                    Ok(term) => into.push(term),
                    Err(error) => errors.push(error),
                }
            }
        };
        if let Some(it) = &affinity.pod_affinity {
            required(&it.required, &mut all.required_affinity);
        }
        if let Some(it) = &affinity.pod_anti_affinity {
            required(&it.required, &mut all.required_anti_affinity);
        }
        let preferred = [
            (&affinity.pod_affinity, &mut all.preferred_affinity),
            (&affinity.pod_anti_affinity, &mut all.preferred_anti_affinity),
        ];
        for (side, into) in preferred {
            for weighted in side.iter().flat_map(|it| &it.preferred) {
                match AffinityTerm::of(pod, &weighted.pod_affinity_term) {
                    Ok(term) => into.push(WeightedAffinityTerm { term, weight: weighted.weight }),
                    Err(error) => errors.push(error),
                }
            }
        }
        all.error = match errors.len() {
            0 => None,
            1 => errors.pop(),
            _ => Some(format!("[{}]", errors.join(", "))),
        };
        Some(all)
    }
}
