//! What is measured, under upstream's names: the core's thread writes numbers, whoever asks for
//! `/metrics` reads them, and neither waits for the other.

mod call_slot;
mod calls;
mod encode;
mod families;
mod gauges;
mod meter;
mod own_process;
pub(crate) mod pod_resources;
mod slis;
#[cfg(test)]
mod tests;

use std::sync::Arc;

pub(crate) use call_slot::RunningCall;
pub(crate) use calls::Calls;
pub(crate) use families::Families;
pub(crate) use gauges::Gauges;
pub(crate) use meter::CoreMeter;

/// Every number, and the text that shows them.
#[derive(Clone, Debug)]
pub(crate) struct Measures(Arc<Families>);

impl Measures {
    /// Nothing has been counted yet.
    pub(crate) fn new() -> Self {
        Self(Arc::new(Families::new()))
    }

    /// The numbers themselves.
    pub(crate) fn families(&self) -> &Families {
        &self.0
    }

    /// Counts calls to this API server.
    pub(crate) fn calls_to(&self, server: &str) -> Calls {
        Calls::new(self.clone(), server)
    }

    /// All of it in Prometheus' text format 0.0.4, as upstream writes it.
    pub(crate) fn text(&self) -> String {
        self.0.own.refresh();
        encode::text(&self.0.registry.gather())
    }
}
