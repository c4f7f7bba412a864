//! All the stages in a row, as a scheduler goes through them when it starts.

use loadmaster_framework::FieldError;

use crate::{
    catalog::Catalog,
    config::KubeSchedulerConfiguration,
    decode::decode,
    error::{ConfigError, Problem, Stage, Warning},
    extenders,
    profile::{self, EffectiveProfile},
    validate::validate,
    warnings,
};

/// A configuration that can be used.
#[derive(Clone, Debug, PartialEq)]
pub struct Loaded {
    /// The settings, with what building them filled in.
    pub config: KubeSchedulerConfiguration,
    /// The profiles, in their order.
    pub profiles: Vec<EffectiveProfile>,
    /// What is probably not meant.
    pub warnings: Vec<Warning>,
}

/// Decodes, validates and builds a configuration. `source_name` names the text in errors.
///
/// Certificates that extenders name are looked for; no connection is made.
///
/// # Errors
/// The faults of the first stage that finds any.
pub fn load(text: &str, source_name: &str, catalog: &dyn Catalog) -> Result<Loaded, ConfigError> {
    let (mut config, mut warnings) = decode(text, source_name, catalog)?;
    let refused = |stage, problems| {
        let source_name = source_name.to_owned();
        ConfigError { source_name, stage, problems }
    };
    let errors = validate(&config, catalog);
    if !errors.is_empty() {
        let problems = errors.into_iter().map(|it| field_problem(it, &config)).collect();
        return Err(refused(Stage::Validate, problems));
    }
    extenders::build(&mut config, catalog).map_err(|it| refused(Stage::Build, vec![it]))?;
    let mut profiles = Vec::new();
    for index in 0..config.profiles.len() {
        let built = profile::build(&config, index, catalog);
        let built = built.map_err(|it| refused(Stage::Build, it))?;
        warnings.extend(warnings::of_companions(&config, index, &built, catalog));
        profiles.push(built);
    }
    Ok(Loaded { config, profiles, warnings })
}

/// Turns every warning into an error of the stage that is responsible for names: what
/// `config check --strict` does.
///
/// # Errors
/// All warnings, if there are any.
pub fn deny_warnings(loaded: Loaded, source_name: &str) -> Result<Loaded, ConfigError> {
    if loaded.warnings.is_empty() {
        return Ok(loaded);
    }
    let problems = loaded
        .warnings
        .into_iter()
        .map(|it| Problem { place: it.place, ..Problem::new(it.path, it.message) });
    let problems = problems.collect();
    Err(ConfigError { source_name: source_name.to_owned(), stage: Stage::Validate, problems })
}

fn field_problem(error: FieldError, config: &KubeSchedulerConfiguration) -> Problem {
    let shown = error.to_string();
    let message = shown[error.path.len()..].trim_start_matches(": ").to_owned();
    Problem { place: config.places.find(&error.path), ..Problem::new(error.path, message) }
}
