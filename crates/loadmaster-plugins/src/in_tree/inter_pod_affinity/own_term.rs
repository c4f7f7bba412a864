//! The incoming pod's own terms, their namespaces settled for one cycle.

use std::collections::BTreeSet;

use loadmaster_framework::{
    AffinityTerm, Listers,
    api::{Labels, Pod, Selector, Text},
};

/// A term of the incoming pod. Its namespace selector has been asked once about every namespace,
/// so that matching a pod needs no look at the labels of the pod's namespace.
#[derive(Clone, Debug)]
pub(super) struct OwnTerm {
    pub(super) topology_key: Text,
    namespaces: Namespaces,
    selector: Selector,
}

#[derive(Clone, Debug)]
enum Namespaces {
    Only(BTreeSet<Text>),
    AllBut(BTreeSet<Text>),
}

impl OwnTerm {
    /// Settles `term`. A namespace that is not known has no labels, as everywhere in the plugin.
    ///
    /// Upstream tests the selector against no labels instead of the namespace's own, so that
    /// `NotIn` and `DoesNotExist` match in every namespace (k/k#141526); this does not.
    pub(super) fn new(term: &AffinityTerm, listers: &Listers) -> Self {
        let selector = &term.namespace_selector;
        let listed = term.namespaces.iter().cloned();
        let known = |selected: bool| {
            let namespaces = listers.namespaces.iter().map(|it| &it.metadata);
            let namespaces = namespaces.filter(move |it| selector.matches(&it.labels) == selected);
            namespaces.map(|it| it.name.clone())
        };
        let namespaces = if selector.is_nothing() {
            Namespaces::Only(listed.collect())
        } else if selector.is_empty() {
            Namespaces::AllBut(BTreeSet::new())
        } else if selector.matches(&Labels::default()) {
            let left_out = known(false).filter(|it| !term.namespaces.contains(it));
            Namespaces::AllBut(left_out.collect())
        } else {
            Namespaces::Only(listed.chain(known(true)).collect())
        };
        let topology_key = term.topology_key.clone();
        Self { topology_key, namespaces, selector: term.selector.clone() }
    }

    /// All of `terms`, settled.
    pub(super) fn all(terms: &[AffinityTerm], listers: &Listers) -> Vec<Self> {
        terms.iter().map(|term| Self::new(term, listers)).collect()
    }

    /// Whether `pod` is one of the pods that the term is about.
    pub(super) fn matches(&self, pod: &Pod) -> bool {
        let namespace = match &self.namespaces {
            Namespaces::Only(names) => names.contains(pod.namespace()),
            Namespaces::AllBut(names) => !names.contains(pod.namespace()),
        };
        namespace && self.selector.matches(&pod.metadata.labels)
    }
}

/// Whether `pod` is one that every one of `terms` is about; without terms no pod is.
pub(super) fn all_match(terms: &[OwnTerm], pod: &Pod) -> bool {
    !terms.is_empty() && terms.iter().all(|it| it.matches(pod))
}
