//! Which points a built plugin takes part in.

use std::{fmt, sync::Arc};

use super::{
    Access, Bind, EnqueueExtensions, Feed, Filter, Kind, Permit, Plugin, PostBind, PostFilter,
    PreBind, PreEnqueue, PreFilter, PreScore, QueueSort, Reserve, Score,
};

macro_rules! hooks {
    ($($field:ident: $point:ident = $config:literal),* $(,)?) => {
        /// An extension point that a profile can list plugins at, in the order in which one pod
        /// meets them.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Point {
            $(#[doc = concat!("[`", stringify!($point), "`](super::", stringify!($point), ").")]
            $point,)*
        }

        impl Point {
            /// Every point, in order.
            pub const ALL: &[Self] = &[$(Self::$point),*];

            /// Its field in `profiles[].plugins`.
            pub fn config_name(self) -> &'static str {
                match self {
                    $(Self::$point => $config,)*
                }
            }

            /// Its name in metrics and logs.
            pub fn as_str(self) -> &'static str {
                match self {
                    $(Self::$point => stringify!($point),)*
                }
            }
        }

        /// A built plugin: its name and one slot a point.
        #[derive(Clone, Default)]
        pub struct Hooks {
            /// [`Plugin::NAME`].
            pub name: &'static str,
            $(#[doc = concat!("Its [`", stringify!($point), "`], if it has one.")]
            pub $field: Option<Arc<dyn $point>>,)*
            /// Which changes may help pods that it rejected; without it, every change may.
            pub enqueue_extensions: Option<Arc<dyn EnqueueExtensions>>,
            /// Facts from elsewhere that it reads.
            pub feeds: Vec<Feed>,
            /// Kinds that it reads beside nodes, pods and those of the events that it registers.
            pub reads: Vec<Kind>,
            /// What its actions must be allowed to write.
            pub needs: Vec<Access>,
        }

        impl Hooks {
            /// Whether the plugin takes part in `point`.
            pub fn serves(&self, point: Point) -> bool {
                match point {
                    $(Point::$point => self.$field.is_some(),)*
                }
            }
        }

        impl<P: Plugin> HooksOf<P> {
            $(#[doc = concat!("Takes part in [`", stringify!($point), "`].")]
            #[must_use]
            pub fn $field(mut self) -> Self where P: $point {
                self.hooks.$field = Some(Arc::clone(&self.plugin) as Arc<dyn $point>);
                self
            })*
        }
    };
}

hooks! {
    pre_enqueue: PreEnqueue = "preEnqueue",
    queue_sort: QueueSort = "queueSort",
    pre_filter: PreFilter = "preFilter",
    filter: Filter = "filter",
    post_filter: PostFilter = "postFilter",
    pre_score: PreScore = "preScore",
    score: Score = "score",
    reserve: Reserve = "reserve",
    permit: Permit = "permit",
    pre_bind: PreBind = "preBind",
    bind: Bind = "bind",
    post_bind: PostBind = "postBind",
}

impl fmt::Debug for Hooks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:", self.name)?;
        let mut points = Point::ALL.iter().filter(|it| self.serves(**it));
        points.try_for_each(|it| write!(f, " {}", it.as_str()))
    }
}

/// Lists a plugin's points; naming one that it does not implement does not compile.
pub struct HooksOf<P> {
    plugin: Arc<P>,
    hooks: Hooks,
}

impl<P> fmt::Debug for HooksOf<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.hooks.fmt(f)
    }
}

impl Hooks {
    /// Starts the list for `plugin`.
    pub fn of<P: Plugin>(plugin: P) -> HooksOf<P> {
        HooksOf { plugin: Arc::new(plugin), hooks: Self { name: P::NAME, ..Self::default() } }
    }
}

impl<P: Plugin> HooksOf<P> {
    /// Says which changes may help pods that the plugin rejected.
    #[must_use]
    pub fn enqueue_extensions(mut self) -> Self
    where
        P: EnqueueExtensions,
    {
        self.hooks.enqueue_extensions =
            Some(Arc::clone(&self.plugin) as Arc<dyn EnqueueExtensions>);
        self
    }

    /// Declares facts from elsewhere that the plugin reads.
    #[must_use]
    pub fn feed(mut self, feed: Feed) -> Self {
        self.hooks.feeds.push(feed);
        self
    }

    /// Declares kinds that the plugin reads in [`Listers`](crate::Listers), beside nodes and pods,
    /// which are always there, and beside the kinds of the events that it registers. They are
    /// watched, pods wait until they are known, and the permissions that a cluster grants the
    /// scheduler are made from it; a kind that nobody declares is not watched and looks empty.
    ///
    /// Upstream: the listers that a plugin takes from the informer factory in its `New`.
    #[must_use]
    pub fn reads(mut self, kinds: &[Kind]) -> Self {
        self.hooks.reads.extend_from_slice(kinds);
        self
    }

    /// Declares what the plugin's actions must be allowed to write: the permissions that a cluster
    /// grants the scheduler are made from it.
    #[must_use]
    pub fn needs(mut self, access: Access) -> Self {
        self.hooks.needs.push(access);
        self
    }
}

impl<P> From<HooksOf<P>> for Hooks {
    fn from(list: HooksOf<P>) -> Self {
        list.hooks
    }
}
