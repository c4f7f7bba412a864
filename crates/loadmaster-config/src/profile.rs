//! Profiles put together: which plugins run at each point, in which order and with which weight.
//!
//! Source: `pkg/scheduler/framework/runtime/framework.go`, `NewFramework`, 1.36. Faults are found in
//! upstream's order and told in its words.

use std::collections::{BTreeMap, BTreeSet};

use loadmaster_framework::field::{aggregate, child, element};
use serde_json::Value;

use crate::{
    catalog::{self, Catalog},
    config::{Args, KubeSchedulerConfiguration, Profile},
    error::{Problem, did_you_mean},
    plugins::{MULTI_POINT, PluginRef},
    points::{Point, PointSet},
};

/// A profile ready to run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct EffectiveProfile {
    /// The `schedulerName` that pods ask for.
    pub scheduler_name: String,
    /// Overrides the configuration's number of the same name.
    pub percentage_of_nodes_to_score: Option<i32>,
    /// The weight of each plugin that scores, by name.
    pub score_weights: BTreeMap<String, i64>,
    /// The arguments of each plugin in use that takes some, with defaults filled in.
    pub args: BTreeMap<String, Value>,
    /// What is written for plugins in use that take no arguments; they do not get to see it.
    pub unread_args: BTreeMap<String, Value>,
    /// The running order at each point.
    points: BTreeMap<Point, Vec<String>>,
}

impl EffectiveProfile {
    /// The plugins that run at `point`, in order.
    pub fn plugins_at(&self, point: impl Into<Point>) -> &[String] {
        self.points.get(&point.into()).map_or(&[], Vec::as_slice)
    }

    /// The arguments to build `plugin` with; `Null` for one that takes none.
    pub fn args_of(&self, plugin: &str) -> &Value {
        self.args.get(plugin).unwrap_or(&Value::Null)
    }

    /// The names of all plugins that run anywhere, sorted.
    pub fn plugin_names(&self) -> BTreeSet<&str> {
        self.points.values().flatten().map(String::as_str).collect()
    }
}

/// Puts the profile at `index` together.
///
/// # Errors
/// The faults of the first step that finds any.
pub(crate) fn build(
    config: &KubeSchedulerConfiguration,
    index: usize,
    catalog: &dyn Catalog,
) -> Result<EffectiveProfile, Vec<Problem>> {
    let profile = &config.profiles[index];
    let path = element("profiles", index);
    let builder = Builder::new(profile, path, catalog);
    builder.build().map_err(|problems| {
        let located = problems.into_iter().map(|it| Problem {
            place: config.places.find(&it.path),
            profile: Some(profile.scheduler_name.clone()),
            ..it
        });
        located.collect()
    })
}

struct Builder<'c> {
    profile: &'c Profile,
    path: String,
    catalog: &'c dyn Catalog,
    /// The points that each enabled plugin serves; unknown plugins are missing.
    serves: BTreeMap<&'c str, PointSet>,
}

impl<'c> Builder<'c> {
    fn new(profile: &'c Profile, path: String, catalog: &'c dyn Catalog) -> Self {
        let serves = profile.plugins.names().into_iter().filter_map(|name| {
            let args = args_of(profile, name).and_then(Args::typed).unwrap_or(&Value::Null);
            Some((name, catalog::served(catalog, name, args)?))
        });
        Self { profile, path, catalog, serves: serves.collect() }
    }

    fn build(&self) -> Result<EffectiveProfile, Vec<Problem>> {
        self.check_args()?;
        self.check_single_points()?;
        let mut points = BTreeMap::new();
        for point in Point::BUILD_ORDER {
            points.insert(point, self.running_order(point).map_err(|it| vec![it])?);
        }
        self.check_counts(&points).map_err(|it| vec![it])?;
        let score_weights = self.weights(Point::Score, "score plugins")?;
        self.weights(Point::PlacementScore, "placement score plugins")?;
        let mut built = EffectiveProfile {
            scheduler_name: self.profile.scheduler_name.clone(),
            percentage_of_nodes_to_score: self.profile.percentage_of_nodes_to_score,
            points,
            ..EffectiveProfile::default()
        };
        for name in self.serves.keys().copied() {
            match args_of(self.profile, name) {
                Some(Args::Typed(value)) => {
                    built.args.insert(name.to_owned(), value.clone());
                }
                Some(Args::Raw(value)) => {
                    built.unread_args.insert(name.to_owned(), value.clone());
                }
                Some(Args::None) | None => {}
            }
        }
        let scoring = built.plugins_at(Point::Score).iter();
        built.score_weights =
            scoring.filter_map(|it| Some((it.clone(), *score_weights.get(&**it)?))).collect();
        Ok(built)
    }

    /// Each plugin checks its arguments when it is made.
    fn check_args(&self) -> Result<(), Vec<Problem>> {
        let configs = self.profile.plugin_config.iter().enumerate();
        for (index, entry) in configs.filter(|(_, it)| self.serves.contains_key(&*it.name)) {
            let Args::Typed(args) = &entry.args else { continue };
            let errors = self.catalog.validate_args(&entry.name, args, "");
            if errors.is_empty() {
                continue;
            }
            let config = element(&child(&self.path, "pluginConfig"), index);
            let message = format!("initializing plugin {:?}: {}", entry.name, aggregate(&errors));
            return Err(vec![Problem::new(child(&config, "args"), message)]);
        }
        Ok(())
    }

    /// What is listed at single points must exist, serve the point, and be listed once.
    fn check_single_points(&self) -> Result<(), Vec<Problem>> {
        let mut problems = Vec::new();
        for point in Point::BUILD_ORDER {
            let mut seen = BTreeSet::new();
            for plugin in &self.profile.plugins.at(point).enabled {
                let path = || self.path_of(point.field(), &plugin.name);
                match self.serves.get(&*plugin.name) {
                    None => problems.push(self.unknown(point, point.field(), &plugin.name)),
                    Some(points) if !points.contains(point) => {
                        let (name, interface) = (&plugin.name, point.interface());
                        let message = format!("plugin {name:?} does not extend {interface} plugin");
                        let hint = points_hint(*points);
                        problems.push(Problem::new(path(), message).hint(hint));
                    }
                    Some(_) if !seen.insert(&plugin.name) => {
                        problems.push(twice(path(), &plugin.name, point));
                    }
                    Some(_) => {}
                }
            }
        }
        if problems.is_empty() { Ok(()) } else { Err(problems) }
    }

    /// The running order at a point: first what `multiPoint` brings and the point names again, in
    /// the point's order; then the rest of `multiPoint`; then what the point alone names.
    fn running_order(&self, point: Point) -> Result<Vec<String>, Problem> {
        let set = self.profile.plugins.at(point);
        let named: Vec<&str> = set.enabled.iter().map(|it| &*it.name).collect();
        let mut again = BTreeSet::new();
        let mut expanded: Vec<&str> = Vec::new();
        let multi_point = &self.profile.plugins.multi_point.enabled;
        if !set.disables("*") {
            for PluginRef { name, .. } in multi_point {
                let Some(points) = self.serves.get(&**name) else {
                    return Err(self.unknown(point, MULTI_POINT, name));
                };
                if !points.contains(point) || set.disables(name) {
                    continue;
                }
                if named.contains(&&**name) {
                    again.insert(&**name);
                } else if expanded.contains(&&**name) {
                    return Err(twice(self.path_of(MULTI_POINT, name), name, point));
                } else {
                    expanded.push(name);
                }
            }
        }
        let (first, last): (Vec<&str>, Vec<&str>) =
            named.into_iter().partition(|it| again.contains(it));
        Ok(first.into_iter().chain(expanded).chain(last).map(str::to_owned).collect())
    }

    fn check_counts(&self, points: &BTreeMap<Point, Vec<String>>) -> Result<(), Problem> {
        let count = |point| points.get(&point).map_or(0, Vec::len);
        let name = &self.profile.scheduler_name;
        let problem = |message: String, point: Point| {
            Problem::new(child(&child(&self.path, "plugins"), point.field()), message)
        };
        let sorters = count(Point::QueueSort);
        if sorters != 1 {
            let message = format!(
                "only one queue sort plugin required for profile with scheduler name {name:?}, but \
                 got {sorters}"
            );
            return Err(problem(message, Point::QueueSort).hint("the usual one is PrioritySort"));
        }
        if count(Point::Bind) == 0 {
            let message = format!(
                "at least one bind plugin is needed for profile with scheduler name {name:?}"
            );
            return Err(problem(message, Point::Bind).hint("the usual one is DefaultBinder"));
        }
        if count(Point::PlacementGenerate) > 1 {
            let message = format!(
                "at most one placement generate plugin is allowed for profile with scheduler name \
                 {name:?}"
            );
            return Err(problem(message, Point::PlacementGenerate));
        }
        Ok(())
    }

    /// The weights at a point that scores: those listed there come first and take precedence.
    ///
    /// Upstream adds them up in that order and compares each with what is left of 64 bits. Below
    /// zero the difference itself wraps, so a negative weight is refused unless it comes last or
    /// others have made room for it.
    fn weights(&self, point: Point, what: &str) -> Result<BTreeMap<&str, i64>, Vec<Problem>> {
        const MAX_NODE_SCORE: i64 = 100;
        let own = self.profile.plugins.at(point).enabled.iter().map(|it| (point.field(), it));
        let multi = self.profile.plugins.multi_point.enabled.iter().map(|it| (MULTI_POINT, it));
        let mut weights = BTreeMap::new();
        let mut total = 0i64;
        let mut negative = None;
        for (field, plugin) in own.chain(multi) {
            let serves = self.serves.get(&*plugin.name).is_some_and(|it| it.contains(point));
            if !serves || weights.contains_key(&*plugin.name) {
                continue;
            }
            let weight = match plugin.raw_weight() {
                0 => 1,
                weight => i64::from(weight),
            };
            if weight < 0 && negative.is_none() {
                negative = Some(child(&self.path_of(field, &plugin.name), "weight"));
            }
            weights.insert(&*plugin.name, weight);
            let most = weight * MAX_NODE_SCORE;
            if most > i64::MAX.wrapping_sub(total) {
                let path = negative.unwrap_or_else(|| self.path_of(field, &plugin.name));
                let message = format!("{what}: total score of Score plugins could overflow");
                let hint = "weights must not be negative, and their sum must stay in range";
                return Err(vec![Problem::new(path, message).hint(hint)]);
            }
            total = total.wrapping_add(most);
        }
        Ok(weights)
    }

    /// Where `name` is enabled, as the file has it.
    fn path_of(&self, field: &str, name: &str) -> String {
        let set = self.profile.written.sets().find(|(it, _)| *it == field);
        let index = set.and_then(|(_, set)| set.enabled.iter().position(|it| it.name == name));
        let path = child(&child(&self.path, "plugins"), field);
        match index {
            Some(index) => element(&child(&path, "enabled"), index),
            None => path,
        }
    }

    fn unknown(&self, point: Point, field: &str, name: &str) -> Problem {
        let message = format!("{} {name:?} does not exist", point.interface());
        let problem = Problem::new(self.path_of(field, name), message);
        match did_you_mean(name, self.catalog.names()) {
            Some(hint) => problem.hint(hint),
            None => problem,
        }
    }
}

fn args_of<'p>(profile: &'p Profile, name: &str) -> Option<&'p Args> {
    // Validation has refused a repeated name.
    profile.plugin_config.iter().find(|it| it.name == name).map(|it| &it.args)
}

fn twice(path: String, name: &str, point: Point) -> Problem {
    Problem::new(path, format!("plugin {name:?} already registered as {:?}", point.interface()))
}

fn points_hint(points: PointSet) -> String {
    let fields = Point::ALL.into_iter().filter(|it| points.contains(*it)).map(Point::field);
    format!("it serves {}", fields.collect::<Vec<_>>().join(", "))
}
