//! Feature gates, read once at start-up and passed on; never global.

/// What is switched on or off against the defaults of Kubernetes 1.36.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Gates {
    /// `Gt` and `Lt` tolerations (`TaintTolerationComparisonOperators`, KEP-5471); off in 1.36.
    pub taint_toleration_comparison_operators: bool,
}
