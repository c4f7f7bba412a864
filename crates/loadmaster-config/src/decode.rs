//! From a text to a configuration with its defaults filled in.
//!
//! Source: `k8s.io/apimachinery/pkg/runtime/serializer`, `pkg/scheduler/apis/config/v1`, 1.36.

use std::collections::BTreeMap;

use loadmaster_framework::field::{child, element};
use serde_json::Value;

use crate::{
    catalog::{ArgsError, Catalog, UPSTREAM_TYPED},
    config::{
        API_VERSION, Args, DEFAULT_PARALLELISM, KIND, KubeSchedulerConfiguration, Places,
        PluginConfig, Profile,
    },
    document::{self, Kind, Node, Nulls},
    error::{ConfigError, Place, Problem, Stage, Warning},
    go_json,
    plugins::Plugins,
    warnings, written,
};

/// Reads a configuration: the notation, the types, the arguments of every plugin, the defaults.
/// `source_name` names the text in errors.
///
/// A text that begins with `{` is strict JSON, any other is YAML of which the first document counts.
///
/// # Errors
/// Everything that is unknown, repeated or of a wrong type, with its place and the nearest right word.
pub fn decode(
    text: &str,
    source_name: &str,
    catalog: &dyn Catalog,
) -> Result<(KubeSchedulerConfiguration, Vec<Warning>), ConfigError> {
    decode_text(text, catalog).map_err(|problems| ConfigError {
        source_name: source_name.to_owned(),
        stage: Stage::Decode,
        problems,
    })
}

fn decode_text(
    text: &str,
    catalog: &dyn Catalog,
) -> Result<(KubeSchedulerConfiguration, Vec<Warning>), Vec<Problem>> {
    let document = document::read(text).map_err(|it| vec![it])?;
    let root = &document.root;
    let version = header(root, API_VERSION, None).map_err(|it| vec![it])?;
    if version.kind != KIND {
        return Err(vec![wrong_kind(root, &version.kind)]);
    }
    let mut problems = document.problems;
    if version.internal {
        problems.extend(fields_of_internal(root));
        // Decoded without defaults, which validation then refuses.
        return if problems.is_empty() { Ok(Default::default()) } else { Err(problems) };
    }
    let decoded: Result<written::Document, _> = go_json::decode(root, "");
    let written = decoded.map_err(|more| {
        problems.extend(more);
        problems.clone()
    })?;
    let mut warnings = Vec::new();
    let mut args = ArgsReader { catalog, problems, warnings: &mut warnings };
    let mut profiles = Vec::new();
    let sole = written.profiles.len() < 2;
    let mut given = written.profiles;
    if given.is_empty() {
        given.push(written::Profile::default());
    }
    for (index, profile) in given.into_iter().enumerate() {
        let node = root.get("profiles").and_then(|it| it.element(index));
        let path = element("profiles", index);
        profiles.push(args.profile(profile, node, &path, sole));
    }
    if !args.problems.is_empty() {
        return Err(args.problems);
    }
    let enable_profiling = written.enable_profiling.unwrap_or(true);
    let config = KubeSchedulerConfiguration {
        parallelism: written.parallelism.unwrap_or(DEFAULT_PARALLELISM),
        leader_election: written.leader_election.into(),
        client_connection: written.client_connection.into(),
        enable_profiling,
        enable_contention_profiling: written
            .enable_contention_profiling
            .unwrap_or(enable_profiling),
        percentage_of_nodes_to_score: written.percentage_of_nodes_to_score.unwrap_or(0),
        pod_initial_backoff_seconds: written.pod_initial_backoff_seconds.unwrap_or(1),
        pod_max_backoff_seconds: written.pod_max_backoff_seconds.unwrap_or(10),
        profiles,
        extenders: written.extenders,
        delay_cache_until_active: written.delay_cache_until_active,
        places: places(root),
    };
    warnings.extend(warnings::of_names(&config, catalog));
    Ok((config, warnings))
}

/// The version and kind of an object.
struct Header {
    kind: String,
    /// The version without defaults, which is not meant for files.
    internal: bool,
}

/// Reads `apiVersion` and `kind`; `default_kind` is what absent ones mean, if they may be absent.
fn header(node: &Node, wanted: &str, default_kind: Option<&str>) -> Result<Header, Problem> {
    let at = |problem: Problem| Problem { place: problem.place.or(node.place), ..problem };
    if !matches!(node.kind, Kind::Map(_) | Kind::Null) {
        let message = format!("expected a map, found {}", node.describe());
        return Err(at(Problem::new("", message)));
    }
    let text = |key: &str| match node.get(key).map(|it| (&it.kind, it.place)) {
        None | Some((Kind::Null, _)) => Ok(""),
        Some((Kind::Text(it), _)) => Ok(it.as_str()),
        Some((_, place)) => Err(Problem { place, ..Problem::new(key, "expected a text") }),
    };
    let (api_version, kind) = (text("apiVersion")?, text("kind")?);
    let kind = if kind.is_empty() { default_kind.unwrap_or("") } else { kind };
    let missing = |key: &str, right: &str| {
        at(Problem::new(key, format!("'{key}' is missing")).hint(format!("write {key}: {right}")))
    };
    if kind.is_empty() {
        return Err(missing("kind", KIND));
    }
    if api_version.is_empty() && default_kind.is_none() {
        return Err(missing("apiVersion", wanted));
    }
    let (group, _) = wanted.split_once('/').unwrap_or((wanted, ""));
    let internal = api_version == format!("{group}/__internal");
    // A group without a version means the default version, where there may be a default at all.
    let defaulted =
        default_kind.is_some() && (api_version.is_empty() || api_version == format!("{group}/"));
    if api_version != wanted && !internal && !defaulted {
        let message = format!("no kind {kind:?} is known for version {api_version:?}");
        let place = node.get("apiVersion").and_then(|it| it.place);
        let problem = Problem::new("apiVersion", message).hint(format!("write {wanted}"));
        return Err(at(Problem { place, ..problem }));
    }
    Ok(Header { kind: kind.to_owned(), internal })
}

fn wrong_kind(root: &Node, kind: &str) -> Problem {
    let place = root.get("kind").and_then(|it| it.place);
    let problem = Problem::new("kind", format!("no kind {kind:?} is known"));
    Problem { place, ..problem.hint(format!("write {KIND}")) }
}

/// The internal version has other names for its fields, none of which files use.
fn fields_of_internal(root: &Node) -> Vec<Problem> {
    let Kind::Map(entries) = &root.kind else { return Vec::new() };
    let odd = entries.iter().filter(|(key, _)| !matches!(&**key, "apiVersion" | "kind"));
    odd.map(|(key, value)| {
        let problem = Problem::new(&**key, "unknown field in the internal version");
        Problem { place: value.place, ..problem.hint(format!("write apiVersion: {API_VERSION}")) }
    })
    .collect()
}

/// Decodes profiles with the arguments of their plugins, and collects what is wrong.
struct ArgsReader<'c> {
    catalog: &'c dyn Catalog,
    problems: Vec<Problem>,
    warnings: &'c mut Vec<Warning>,
}

impl ArgsReader<'_> {
    fn profile(
        &mut self,
        profile: written::Profile,
        node: Option<&Node>,
        path: &str,
        sole: bool,
    ) -> Profile {
        let written = profile.plugins.unwrap_or_default();
        let plugins = Plugins::merged(&written);
        let list = node.and_then(|it| it.get("pluginConfig"));
        let mut plugin_config = Vec::new();
        for (index, entry) in profile.plugin_config.into_iter().enumerate() {
            let node = list.and_then(|it| it.element(index)).and_then(|it| it.get("args"));
            let path = child(&element(&child(path, "pluginConfig"), index), "args");
            plugin_config.push(self.config(entry.name, entry.args.0, node, &path));
        }
        for name in plugins.names() {
            let configured = plugin_config.iter().any(|it| it.name == name);
            if !configured && self.catalog.takes_args(name) {
                plugin_config.push(self.config(name.to_owned(), Value::Null, None, path));
            }
        }
        let default_name = || if sole { "default-scheduler".to_owned() } else { String::new() };
        Profile {
            scheduler_name: profile.scheduler_name.unwrap_or_else(default_name),
            percentage_of_nodes_to_score: profile.percentage_of_nodes_to_score,
            plugins,
            written,
            plugin_config,
        }
    }

    /// Decodes the arguments of the plugin `name` that stand at `path`.
    fn config(
        &mut self,
        name: String,
        raw: Value,
        node: Option<&Node>,
        path: &str,
    ) -> PluginConfig {
        let (args, written) = if self.catalog.takes_args(&name) {
            let nothing = Node::new(Kind::Null, None);
            match self.typed_args(&name, node.unwrap_or(&nothing), path) {
                Ok((effective, written)) => (Args::Typed(effective), written),
                Err(problem) => {
                    self.problems.push(problem);
                    (Args::None, Value::Null)
                }
            }
        } else if raw.is_null() {
            (Args::None, Value::Null)
        } else {
            (Args::Raw(raw), Value::Null)
        };
        PluginConfig { name, args, written }
    }

    /// The effective arguments, and what is written of them.
    fn typed_args(
        &mut self,
        plugin: &str,
        node: &Node,
        path: &str,
    ) -> Result<(Value, Value), Problem> {
        let kind = format!("{plugin}Args");
        let prefixed = |problem: Problem| {
            let path = match &*problem.path {
                "" => path.to_owned(),
                inner if inner.starts_with('[') => format!("{path}{inner}"),
                inner => child(path, inner),
            };
            Problem { path, ..problem }
        };
        let header = header(node, API_VERSION, Some(&kind)).map_err(prefixed)?;
        if header.kind != kind || header.internal {
            let message = format!("arguments of {plugin} are of kind {kind}, not {}", header.kind);
            let place = node.get("kind").and_then(|it| it.place);
            return Err(prefixed(Problem { place, ..Problem::new("kind", message) }));
        }
        let mut repeated = Vec::new();
        node.repeated_keys("", &mut repeated);
        if let Some(first) = repeated.into_iter().next() {
            return Err(prefixed(Problem::new(first, "this field is given twice")));
        }
        let mut written = node.to_value(Nulls::Dropped);
        if let Value::Object(fields) = &mut written {
            fields.remove("apiVersion");
            fields.remove("kind");
        }
        loop {
            let error = match self.catalog.decode_args(plugin, &written) {
                Ok(effective) => return Ok((effective, written)),
                Err(error) => error,
            };
            let problem = prefixed(args_problem(error, node));
            // Upstream refuses an unknown field where it knows the type; elsewhere it says nothing.
            if UPSTREAM_TYPED.contains(&plugin) || !drop_field(&mut written, path, &problem) {
                return Err(problem);
            }
            let Problem { path, place, message, hint, .. } = problem;
            let hint = hint.map(|it| format!(" ({it})")).unwrap_or_default();
            self.warnings.push(Warning { path, place, message: format!("{message}{hint}") });
        }
    }
}

fn args_problem(error: ArgsError, node: &Node) -> Problem {
    let (problem, path) = match error {
        ArgsError::UnknownField { path, hint } => (Problem::new(&*path, UNKNOWN).hint(hint), path),
        ArgsError::Invalid { path, message } => (Problem::new(&*path, message), path),
    };
    let place = places(node).find(&path).or(node.place);
    Problem { place, ..problem }
}

/// Takes the unknown field that `problem` names out of the arguments at `root`; false if that is
/// not what the problem is about.
fn drop_field(args: &mut Value, root: &str, problem: &Problem) -> bool {
    let inner = problem.path.strip_prefix(root).and_then(|it| it.strip_prefix('.'));
    let (UNKNOWN, Some(inner)) = (&*problem.message, inner) else { return false };
    let (parent, field) = inner.rsplit_once('.').unwrap_or(("", inner));
    let mut at = args;
    for step in parent.split(['.', '[']).filter(|it| !it.is_empty()) {
        let next = match step.strip_suffix(']').and_then(|it| it.parse::<usize>().ok()) {
            Some(index) => at.get_mut(index),
            None => at.get_mut(step),
        };
        let Some(next) = next else { return false };
        at = next;
    }
    at.as_object_mut().and_then(|it| it.remove(field)).is_some()
}

const UNKNOWN: &str = "unknown field";

/// The place of every value in a tree, by its path.
fn places(root: &Node) -> Places {
    fn visit(node: &Node, path: &str, found: &mut BTreeMap<String, Place>) {
        if let Some(place) = node.place {
            found.insert(path.to_owned(), place);
        }
        match &node.kind {
            Kind::List(elements) => {
                for (index, it) in elements.iter().enumerate() {
                    visit(it, &element(path, index), found);
                }
            }
            Kind::Map(entries) => {
                for (key, it) in entries {
                    visit(it, &child(path, key), found);
                }
            }
            _ => {}
        }
    }
    let mut found = BTreeMap::new();
    visit(root, "", &mut found);
    Places(found)
}
