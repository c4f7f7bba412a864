//! The ways a plugin can decline.

use std::{borrow::Cow, fmt, time::Duration};

use serde::{Deserialize, Serialize};
use smallvec::{SmallVec, smallvec};

/// Text shown to the user. The same text from many nodes is counted, not repeated, so it is best
/// free of a node's name.
pub type Reason = Cow<'static, str>;

/// `Ok` is upstream's `Success`; see [`Status`] for the rest.
pub type Outcome<T = ()> = Result<T, Status>;

/// Upstream's status codes as they appear in logs, metrics and recordings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Code {
    /// Nothing stands against it.
    Success,
    /// The plugin itself broke.
    Error,
    /// Not here now; evicting pods might change that.
    Unschedulable,
    /// Not here, whatever is evicted.
    UnschedulableAndUnresolvable,
    /// Hold the pod before it is bound.
    Wait,
    /// The plugin has nothing to say for this pod.
    Skip,
    /// Decided, but someone outside must act first.
    Pending,
}

impl Code {
    /// Upstream's word for the code.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Success => "Success",
            Self::Error => "Error",
            Self::Unschedulable => "Unschedulable",
            Self::UnschedulableAndUnresolvable => "UnschedulableAndUnresolvable",
            Self::Wait => "Wait",
            Self::Skip => "Skip",
            Self::Pending => "Pending",
        }
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A plugin's own fault, never the pod's.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PluginError {
    /// A point read state that its earlier point had not written.
    #[error("no `{0}` in this cycle's state")]
    MissingState(&'static str),
    /// The plugin panicked; the scheduler lives.
    #[error("plugin {plugin} panicked at {point}{}: {message}", at_node(.node.as_deref()))]
    Panic {
        /// The plugin's name.
        plugin: &'static str,
        /// The extension point.
        point: &'static str,
        /// The node it was asked about, if it was asked about one.
        node: Option<String>,
        /// What it said as it fell.
        message: String,
    },
    /// The plugin took more time than it may in a cycle, and was not asked again in this one.
    #[error(
        "plugin {plugin} has taken {used:.1?} of this cycle, more than its time budget of \
         {budget:.1?}, last at {point}{}", at_node(.node.as_deref())
    )]
    OverBudget {
        /// The plugin's name.
        plugin: &'static str,
        /// The extension point.
        point: &'static str,
        /// The node it was asked about, if it was asked about one.
        node: Option<String>,
        /// What it has taken in this cycle.
        used: Duration,
        /// What it may take.
        budget: Duration,
    },
    /// Anything else, in its own words.
    #[error("{0}")]
    Other(String),
}

fn at_node(node: Option<&str>) -> String {
    node.map(|node| format!(" for node {node}")).unwrap_or_default()
}

/// Why a plugin did not say yes: upstream's code, one or several reasons, and the name of the
/// plugin, which the runner stamps on.
///
/// `Skip` and `Wait` cannot be made: they are answers, not refusals, and each lives in the return
/// type of the points that may give it.
#[derive(Clone, PartialEq, Eq)]
pub struct Status {
    code: Code,
    reasons: SmallVec<[Reason; 1]>,
    plugin: &'static str,
}

impl Status {
    /// Not here now; evicting pods might change that.
    pub fn unschedulable(reason: impl Into<Reason>) -> Self {
        Self::new(Code::Unschedulable, smallvec![reason.into()])
    }

    /// Not here, whatever is evicted: upstream's `UnschedulableAndUnresolvable`. Preemption leaves
    /// this node out.
    pub fn unresolvable(reason: impl Into<Reason>) -> Self {
        Self::new(Code::UnschedulableAndUnresolvable, smallvec![reason.into()])
    }

    /// Decided, but someone outside must act first; the pod is not held back by back-off after it.
    pub fn pending(reason: impl Into<Reason>) -> Self {
        Self::new(Code::Pending, smallvec![reason.into()])
    }

    /// The plugin itself broke; the pod is tried again after back-off.
    pub fn error(reason: impl fmt::Display) -> Self {
        Self::new(Code::Error, smallvec![Reason::Owned(reason.to_string())])
    }

    /// [`Status::unschedulable`] for several reasons at once; they keep their order.
    pub fn unschedulable_for(reasons: impl IntoIterator<Item = Reason>) -> Self {
        Self::new(Code::Unschedulable, reasons.into_iter().collect())
    }

    /// [`Status::unresolvable`] for several reasons at once; they keep their order.
    pub fn unresolvable_for(reasons: impl IntoIterator<Item = Reason>) -> Self {
        Self::new(Code::UnschedulableAndUnresolvable, reasons.into_iter().collect())
    }

    fn new(code: Code, reasons: SmallVec<[Reason; 1]>) -> Self {
        Self { code, reasons, plugin: "" }
    }

    /// One of `Error`, `Unschedulable`, `UnschedulableAndUnresolvable`, `Pending`.
    pub fn code(&self) -> Code {
        self.code
    }

    /// What the user is told, in the plugin's order.
    pub fn reasons(&self) -> &[Reason] {
        &self.reasons
    }

    /// The plugin that declined; empty where the framework itself did, or before it is stamped.
    pub fn plugin(&self) -> &'static str {
        self.plugin
    }

    /// Stamps the plugin's name on; the runner does, plugins need not.
    #[must_use]
    pub fn with_plugin(mut self, plugin: &'static str) -> Self {
        self.plugin = plugin;
        self
    }

    /// All reasons, joined as upstream joins them.
    pub fn message(&self) -> String {
        self.reasons.join(", ")
    }

    /// Whether the pod was declined, rather than the plugin broken.
    pub fn is_rejected(&self) -> bool {
        self.code != Code::Error
    }

    /// Whether the plugin itself broke.
    pub fn is_error(&self) -> bool {
        self.code == Code::Error
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message())
    }
}

impl fmt::Debug for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}[{}] {:?}", self.code, self.plugin, self.reasons)
    }
}

impl std::error::Error for Status {}

impl From<PluginError> for Status {
    fn from(error: PluginError) -> Self {
        Self::error(error)
    }
}
