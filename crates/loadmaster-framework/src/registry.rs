//! Plugins by name.

use std::collections::BTreeMap;

use serde_json::Value;

use super::{FieldError, Gates, Hooks, Plugin};

/// Why a plugin is not there.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BuildError {
    /// A second plugin of a name that is taken.
    #[error("a plugin named {name} is registered already")]
    Duplicate {
        /// The name.
        name: &'static str,
    },
    /// No such name is registered.
    #[error("no plugin is named {name:?}{}", did_you_mean(.nearest.as_deref()))]
    Unknown {
        /// The name asked for.
        name: String,
        /// The registered name that is most like it.
        nearest: Option<String>,
    },
    /// The arguments have the wrong shape: a wrong type, or a field that is not known.
    #[error("{plugin} args: {}{message}", in_field(.path))]
    Decode {
        /// The plugin's name.
        plugin: &'static str,
        /// Path of the field within `args`.
        path: String,
        /// What is wrong with it, and the nearest right word.
        message: String,
    },
    /// The arguments have the right shape and a wrong value.
    #[error("{plugin}: {source}")]
    Args {
        /// The plugin's name.
        plugin: &'static str,
        /// Says which.
        source: FieldError,
    },
}

fn did_you_mean(nearest: Option<&str>) -> String {
    nearest.map(|it| format!("; did you mean {it:?}?")).unwrap_or_default()
}

fn in_field(path: &str) -> String {
    if path.is_empty() || path == "." { String::new() } else { format!("{path}: ") }
}

/// The word among `known` that is most like `word`, if one is near enough to be meant.
pub fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let lower = word.to_lowercase();
    let likeness = |it: &str| strsim::jaro_winkler(&lower, &it.to_lowercase());
    let scored = known.into_iter().map(|it| (likeness(it), it));
    let best = scored.max_by(|(a, x), (b, y)| a.total_cmp(b).then(y.cmp(x)))?;
    (best.0 > 0.8).then_some(best.1)
}

struct Entry {
    doc: &'static str,
    effective: fn(&Value) -> Result<Value, BuildError>,
    validate: fn(&Value, &str) -> Result<Vec<FieldError>, BuildError>,
    build: fn(&Value, &Gates) -> Result<Hooks, BuildError>,
}

/// Every plugin that this binary knows. Start from `Default`, or from the plugins crate's
/// `registry()`.
#[derive(Default)]
pub struct Registry(BTreeMap<&'static str, Entry>);

impl std::fmt::Debug for Registry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_set().entries(self.names()).finish()
    }
}

impl Registry {
    /// Adds `P`.
    ///
    /// # Errors
    /// [`BuildError::Duplicate`] if the name is taken, as upstream has it.
    pub fn register<P: Plugin>(&mut self) -> Result<(), BuildError> {
        let entry = Entry {
            doc: P::DOC,
            effective: effective::<P>,
            validate: |args, path| Ok(P::validate(&decode::<P>(args)?, path)),
            build: build::<P>,
        };
        match self.0.entry(P::NAME) {
            std::collections::btree_map::Entry::Occupied(_) => {
                Err(BuildError::Duplicate { name: P::NAME })
            }
            std::collections::btree_map::Entry::Vacant(free) => {
                free.insert(entry);
                Ok(())
            }
        }
    }

    /// The registered names, sorted.
    pub fn names(&self) -> impl Iterator<Item = &'static str> {
        self.0.keys().copied()
    }

    /// Whether a plugin of this name is registered.
    pub fn contains(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }

    /// The registered name that is most like `name`.
    pub fn nearest(&self, name: &str) -> Option<&'static str> {
        nearest(name, self.names())
    }

    /// The plugin's page in Markdown.
    pub fn doc(&self, name: &str) -> Option<&'static str> {
        self.0.get(name).map(|it| it.doc)
    }

    /// The arguments as the plugin understands them, defaults filled in; `Value::Null` is an
    /// absent entry.
    ///
    /// # Errors
    /// [`BuildError::Unknown`] or [`BuildError::Decode`].
    pub fn effective_args(&self, name: &str, args: &Value) -> Result<Value, BuildError> {
        (self.entry(name)?.effective)(args)
    }

    /// What is wrong with the values of the arguments, which stand at `path`.
    ///
    /// # Errors
    /// [`BuildError::Unknown`] or [`BuildError::Decode`].
    pub fn validate_args(
        &self,
        name: &str,
        args: &Value,
        path: &str,
    ) -> Result<Vec<FieldError>, BuildError> {
        (self.entry(name)?.validate)(args, path)
    }

    /// Builds the plugin `name` from its `pluginConfig` entry; `Value::Null` is an absent one.
    ///
    /// # Errors
    /// [`BuildError`] says whether the name, the shape or a value is wrong.
    pub fn build(&self, name: &str, args: &Value, gates: &Gates) -> Result<Hooks, BuildError> {
        (self.entry(name)?.build)(args, gates)
    }

    fn entry(&self, name: &str) -> Result<&Entry, BuildError> {
        self.0.get(name).ok_or_else(|| BuildError::Unknown {
            name: name.to_owned(),
            nearest: self.nearest(name).map(str::to_owned),
        })
    }
}

fn effective<P: Plugin>(args: &Value) -> Result<Value, BuildError> {
    let args = decode::<P>(args)?;
    serde_json::to_value(&args).map_err(|error| BuildError::Decode {
        plugin: P::NAME,
        path: String::new(),
        message: error.to_string(),
    })
}

fn build<P: Plugin>(args: &Value, gates: &Gates) -> Result<Hooks, BuildError> {
    let plugin = P::NAME;
    let args = decode::<P>(args)?;
    if let Some(source) = P::validate(&args, "args").into_iter().next() {
        return Err(BuildError::Args { plugin, source });
    }
    P::build(args, gates).map_err(|source| BuildError::Args { plugin, source })
}

/// Decodes strictly: a field that the type does not know is an error whether or not the type says
/// `deny_unknown_fields`, so that no plugin's typo is silent.
fn decode<P: Plugin>(args: &Value) -> Result<P::Args, BuildError> {
    let plugin = P::NAME;
    if args.is_null() {
        return Ok(P::Args::default());
    }
    let mut ignored = Vec::new();
    let mut track = serde_path_to_error::Track::new();
    let from = serde_path_to_error::Deserializer::new(args, &mut track);
    let decoded = serde_ignored::deserialize(from, |path| ignored.push(path.to_string()));
    let known = || {
        let default = serde_json::to_value(P::Args::default()).unwrap_or_default();
        default.as_object().map(|it| it.keys().cloned().collect::<Vec<_>>()).unwrap_or_default()
    };
    let suggest = |word: &str| {
        let known = known();
        match nearest(word, known.iter().map(String::as_str)) {
            Some(it) => format!("; did you mean {it:?}?"),
            None if known.is_empty() => "; it takes no arguments".to_owned(),
            None => format!("; it knows {}", known.join(", ")),
        }
    };
    match decoded {
        Ok(args) => match ignored.into_iter().next() {
            None => Ok(args),
            Some(path) => {
                let word = path.rsplit('.').next().unwrap_or_default();
                let message = format!("unknown field {word:?}{}", suggest(word));
                Err(BuildError::Decode { plugin, path, message })
            }
        },
        Err(error) => {
            let path = track.path().to_string();
            let text = error.to_string();
            let unknown = text.strip_prefix("unknown field `").and_then(|it| it.split('`').next());
            let message = match unknown {
                Some(word) => format!("unknown field {word:?}{}", suggest(word)),
                None => text,
            };
            Err(BuildError::Decode { plugin, path, message })
        }
    }
}
