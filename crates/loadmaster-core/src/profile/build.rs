//! Building a profile from its configuration.

use std::{collections::BTreeMap, sync::Arc};

use loadmaster_framework::{BuildError, Gates, Hooks, Point, Registry, api::Text};
use serde_json::Value;

use super::{At, PluginSet, Profile, Weighted};
use crate::meter::Watch;

/// A plugin enabled at a point.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PluginRef {
    /// Its name.
    pub name: String,
    /// At `score`, what its points are multiplied by; at least 1.
    pub weight: i64,
}

impl PluginRef {
    /// `name` with weight 1.
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: name.into(), weight: 1 }
    }
}

/// A profile as configured: for each point the plugins in running order (multiPoint and defaults
/// have been worked out already), and their arguments.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ProfileSpec {
    /// The schedulerName that pods ask for.
    pub scheduler_name: String,
    /// 0..=100; 0 is adaptive.
    pub percentage_of_nodes_to_score: Option<u32>,
    /// Plugins at each point, in running order.
    pub plugins: BTreeMap<Point, Vec<PluginRef>>,
    /// Arguments by plugin; an absent entry means the plugin's defaults.
    pub args: BTreeMap<String, Value>,
}

/// Why a profile cannot be built.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ProfileError {
    /// A plugin cannot be built.
    #[error("profile {profile:?}: {source}")]
    Plugin {
        /// The profile.
        profile: String,
        /// Why not.
        source: BuildError,
    },
    /// A plugin is enabled where it does nothing.
    #[error(
        "profile {profile:?}: plugins.{point}: plugin {plugin:?} does not extend {} plugin",
        .point_name
    )]
    NotServed {
        /// The profile.
        profile: String,
        /// The point's field in the configuration.
        point: &'static str,
        /// The point's name.
        point_name: &'static str,
        /// The plugin.
        plugin: String,
    },
    /// Not exactly one plugin orders the queue.
    #[error(
        "only one queue sort plugin required for profile with scheduler name {profile:?}, but got {count}"
    )]
    QueueSort {
        /// The profile.
        profile: String,
        /// How many do.
        count: usize,
    },
    /// Nothing would bind.
    #[error("at least one bind plugin is needed for profile with scheduler name {profile:?}")]
    NoBind {
        /// The profile.
        profile: String,
    },
    /// More plugins than a profile can hold.
    #[error("profile {profile:?} has {count} plugins; at most {} can be used", PluginSet::CAPACITY)]
    TooMany {
        /// The profile.
        profile: String,
        /// How many it has.
        count: usize,
    },
}

impl Profile {
    /// Builds the plugins of `spec` and puts them in their places. Each plugin is built once,
    /// however many points it is enabled at (k/k#122066).
    ///
    /// # Errors
    /// [`ProfileError`] names the profile, the plugin and what is wrong.
    pub fn build(
        spec: &ProfileSpec,
        registry: &Registry,
        gates: &Gates,
    ) -> Result<Self, ProfileError> {
        Builder::new(spec, registry, gates)?.finish()
    }
}

struct Builder<'a> {
    spec: &'a ProfileSpec,
    built: Vec<Hooks>,
    args: BTreeMap<String, Value>,
}

impl<'a> Builder<'a> {
    fn new(
        spec: &'a ProfileSpec,
        registry: &Registry,
        gates: &Gates,
    ) -> Result<Self, ProfileError> {
        let mut built: Vec<Hooks> = Vec::new();
        let mut args = BTreeMap::new();
        let wrong = |source| ProfileError::Plugin { profile: spec.scheduler_name.clone(), source };
        for name in spec.plugins.values().flatten().map(|it| &it.name) {
            if built.iter().any(|it| it.name == name) {
                continue;
            }
            let given = spec.args.get(name).unwrap_or(&Value::Null);
            built.push(registry.build(name, given, gates).map_err(wrong)?);
            args.insert(name.clone(), registry.effective_args(name, given).map_err(wrong)?);
        }
        if built.len() > PluginSet::CAPACITY {
            return Err(ProfileError::TooMany {
                profile: spec.scheduler_name.clone(),
                count: built.len(),
            });
        }
        Ok(Self { spec, built, args })
    }

    /// The plugins at `point`, each with its weight there.
    fn at<T: ?Sized>(
        &self,
        point: Point,
        pick: impl Fn(&Hooks) -> &Option<Arc<T>>,
    ) -> Result<Vec<(At<T>, i64)>, ProfileError> {
        let listed = self.spec.plugins.get(&point).map_or(&[][..], Vec::as_slice);
        listed
            .iter()
            .map(|it| {
                let plugin = self
                    .built
                    .iter()
                    .position(|hooks| hooks.name == it.name)
                    .expect("every listed plugin was built");
                let hooks = &self.built[plugin];
                let hook = pick(hooks).clone().ok_or_else(|| ProfileError::NotServed {
                    profile: self.spec.scheduler_name.clone(),
                    point: point.config_name(),
                    point_name: point.as_str(),
                    plugin: it.name.clone(),
                })?;
                Ok((At { plugin, name: hooks.name, hook }, it.weight))
            })
            .collect()
    }

    fn list<T: ?Sized>(
        &self,
        point: Point,
        pick: impl Fn(&Hooks) -> &Option<Arc<T>>,
    ) -> Result<Vec<At<T>>, ProfileError> {
        Ok(self.at(point, pick)?.into_iter().map(|(at, _)| at).collect())
    }

    fn finish(self) -> Result<Profile, ProfileError> {
        let profile = || self.spec.scheduler_name.clone();
        let mut sorts = self.list(Point::QueueSort, |it| &it.queue_sort)?;
        let count = sorts.len();
        let queue_sort = match sorts.pop() {
            Some(only) if count == 1 => only,
            _ => return Err(ProfileError::QueueSort { profile: profile(), count }),
        };
        let bind = self.list(Point::Bind, |it| &it.bind)?;
        if bind.is_empty() {
            return Err(ProfileError::NoBind { profile: profile() });
        }
        let score = self.at(Point::Score, |it| &it.score)?;
        Ok(Profile {
            scheduler_name: Text::from(&*self.spec.scheduler_name),
            percentage_of_nodes_to_score: self.spec.percentage_of_nodes_to_score,
            pre_enqueue: self.list(Point::PreEnqueue, |it| &it.pre_enqueue)?,
            queue_sort,
            pre_filter: self.list(Point::PreFilter, |it| &it.pre_filter)?,
            filter: self.list(Point::Filter, |it| &it.filter)?,
            post_filter: self.list(Point::PostFilter, |it| &it.post_filter)?,
            pre_score: self.list(Point::PreScore, |it| &it.pre_score)?,
            score: score.into_iter().map(|(at, weight)| Weighted { at, weight }).collect(),
            reserve: self.list(Point::Reserve, |it| &it.reserve)?,
            permit: self.list(Point::Permit, |it| &it.permit)?,
            pre_bind: self.list(Point::PreBind, |it| &it.pre_bind)?,
            bind,
            post_bind: self.list(Point::PostBind, |it| &it.post_bind)?,
            args: self.args,
            hooks: self.built,
            watch: Watch::default(),
        })
    }
}
