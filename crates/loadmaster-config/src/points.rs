//! The extension points by the names that a configuration gives them.

/// A point at which a plugin can be enabled: those of the framework, and the two that a file may
/// name though their feature gates are off.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Point {
    /// Whether a pod may enter the active queue.
    PreEnqueue,
    /// The order of the queue.
    QueueSort,
    /// Computes once per pod and cycle.
    PreFilter,
    /// Whether a pod can run on a node.
    Filter,
    /// What to do when no node passed.
    PostFilter,
    /// Computes once before scoring.
    PreScore,
    /// How good a node is.
    Score,
    /// Claims what the pod will use.
    Reserve,
    /// Allows, refuses or delays.
    Permit,
    /// What must be done before binding.
    PreBind,
    /// Binds.
    Bind,
    /// Hears of what was bound.
    PostBind,
    /// Placements for a group of pods; its gate is off in 1.36.
    PlacementGenerate,
    /// How good a placement is; its gate is off in 1.36.
    PlacementScore,
}

impl Point {
    /// Every point, in the order in which a pod meets them.
    pub const ALL: [Self; 14] = [
        Self::PreEnqueue,
        Self::QueueSort,
        Self::PreFilter,
        Self::Filter,
        Self::PostFilter,
        Self::PreScore,
        Self::Score,
        Self::Reserve,
        Self::Permit,
        Self::PreBind,
        Self::Bind,
        Self::PostBind,
        Self::PlacementGenerate,
        Self::PlacementScore,
    ];

    /// Every point, in the order in which upstream puts a profile together, which is the order in
    /// which it finds faults.
    pub(crate) const BUILD_ORDER: [Self; 14] = [
        Self::PreFilter,
        Self::Filter,
        Self::PostFilter,
        Self::Reserve,
        Self::PreScore,
        Self::Score,
        Self::PreBind,
        Self::Bind,
        Self::PostBind,
        Self::Permit,
        Self::PreEnqueue,
        Self::QueueSort,
        Self::PlacementGenerate,
        Self::PlacementScore,
    ];

    /// The name of the field under `plugins`, as `preFilter`.
    pub const fn field(self) -> &'static str {
        match self {
            Self::PreEnqueue => "preEnqueue",
            Self::QueueSort => "queueSort",
            Self::PreFilter => "preFilter",
            Self::Filter => "filter",
            Self::PostFilter => "postFilter",
            Self::PreScore => "preScore",
            Self::Score => "score",
            Self::Reserve => "reserve",
            Self::Permit => "permit",
            Self::PreBind => "preBind",
            Self::Bind => "bind",
            Self::PostBind => "postBind",
            Self::PlacementGenerate => "placementGenerate",
            Self::PlacementScore => "placementScore",
        }
    }

    /// The name of the interface in upstream's messages, as `PreFilterPlugin`.
    pub const fn interface(self) -> &'static str {
        match self {
            Self::PreEnqueue => "PreEnqueuePlugin",
            Self::QueueSort => "QueueSortPlugin",
            Self::PreFilter => "PreFilterPlugin",
            Self::Filter => "FilterPlugin",
            Self::PostFilter => "PostFilterPlugin",
            Self::PreScore => "PreScorePlugin",
            Self::Score => "ScorePlugin",
            Self::Reserve => "ReservePlugin",
            Self::Permit => "PermitPlugin",
            Self::PreBind => "PreBindPlugin",
            Self::Bind => "BindPlugin",
            Self::PostBind => "PostBindPlugin",
            Self::PlacementGenerate => "PlacementGeneratePlugin",
            Self::PlacementScore => "PlacementScorePlugin",
        }
    }
}

impl From<loadmaster_framework::Point> for Point {
    fn from(point: loadmaster_framework::Point) -> Self {
        use loadmaster_framework::Point as Framework;
        match point {
            Framework::PreEnqueue => Self::PreEnqueue,
            Framework::QueueSort => Self::QueueSort,
            Framework::PreFilter => Self::PreFilter,
            Framework::Filter => Self::Filter,
            Framework::PostFilter => Self::PostFilter,
            Framework::PreScore => Self::PreScore,
            Framework::Score => Self::Score,
            Framework::Reserve => Self::Reserve,
            Framework::Permit => Self::Permit,
            Framework::PreBind => Self::PreBind,
            Framework::Bind => Self::Bind,
            Framework::PostBind => Self::PostBind,
        }
    }
}

/// The points that a plugin serves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PointSet(u16);

impl PointSet {
    /// Whether `point` is one of them.
    pub const fn contains(self, point: Point) -> bool {
        self.0 & (1 << point as u16) != 0
    }

    /// The set with `point` in it.
    #[must_use]
    pub const fn with(self, point: Point) -> Self {
        Self(self.0 | 1 << point as u16)
    }
}

impl FromIterator<Point> for PointSet {
    fn from_iter<I: IntoIterator<Item = Point>>(points: I) -> Self {
        points.into_iter().fold(Self::default(), Self::with)
    }
}
