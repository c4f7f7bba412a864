//! What goes wrong, and how often.

/// How often things go wrong, each in percent. `Default` is a world without faults.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Faults {
    /// A telling waits while others of its round go first. Those of one object keep their order.
    pub late_percent: u32,
    /// A telling comes twice.
    pub doubled_percent: u32,
    /// A call is refused and has done nothing.
    pub refused_percent: u32,
    /// A call's answer is lost; it was done or not, half of the time each.
    pub lost_percent: u32,
}
