//! All the stages in a row, as a scheduler goes through them when it starts.

use std::fs;

use loadmaster_framework::{
    duration::GoDuration,
    field::{FieldError, element},
};
use serde_json::Value;

use crate::{
    catalog::{Catalog, FIT},
    config::{Args, Extender, ExtenderTlsConfig, KubeSchedulerConfiguration},
    decode::decode,
    error::{ConfigError, Problem, Stage, Warning},
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
    build_extenders(&mut config, catalog).map_err(|it| refused(Stage::Build, vec![it]))?;
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

/// Fills in the extenders' time-out, looks at their certificates, and hands the resources that the
/// scheduler shall ignore to `NodeResourcesFit`.
///
/// Source: `pkg/scheduler/scheduler.go`, `buildExtenders`, and `pkg/scheduler/extender.go`, 1.36.
fn build_extenders(
    config: &mut KubeSchedulerConfiguration,
    catalog: &dyn Catalog,
) -> Result<(), Problem> {
    for (index, extender) in config.extenders.iter_mut().enumerate() {
        if extender.http_timeout == GoDuration::ZERO {
            extender.http_timeout = GoDuration::from_secs(5);
        }
        check_tls(extender).map_err(|message| {
            let path = element("extenders", index);
            let problem = Problem::new(&*path, format!("couldn't build extenders: {message}"));
            Problem { place: config.places.find(&path), ..problem }
        })?;
    }
    let managed = config.extenders.iter().flat_map(|it| &it.managed_resources);
    let ignored: Vec<Value> = managed
        .filter(|it| it.ignored_by_scheduler)
        .map(|it| Value::String(it.name.clone()))
        .collect();
    if ignored.is_empty() || !catalog.takes_args(FIT) {
        return Ok(());
    }
    for (index, profile) in config.profiles.iter_mut().enumerate() {
        let entry = profile.plugin_config.iter_mut().find(|it| it.name == FIT);
        let Some(Args::Typed(Value::Object(args))) = entry.map(|it| &mut it.args) else {
            let message = "couldn't build extenders: can't find NodeResourcesFitArgs in plugin \
                           config";
            let hint = "`ignoredByScheduler` needs NodeResourcesFit in every profile";
            return Err(Problem::new(element("profiles", index), message).hint(hint));
        };
        args.insert("ignoredResources".to_owned(), Value::Array(ignored.clone()));
    }
    Ok(())
}

/// Whether a TLS client can be made, as far as that can be told without a connection.
fn check_tls(extender: &Extender) -> Result<(), String> {
    let none = ExtenderTlsConfig::default();
    let tls = extender.tls_config.as_ref().unwrap_or(&none);
    let has_ca = !tls.ca_file.is_empty() || !tls.ca_data.0.is_empty();
    if has_ca && tls.insecure {
        return Err(
            "specifying a root certificates file with the insecure flag is not allowed".into()
        );
    }
    for (file, data) in [
        (&tls.ca_file, &tls.ca_data),
        (&tls.cert_file, &tls.cert_data),
        (&tls.key_file, &tls.key_data),
    ] {
        if data.0.is_empty() && !file.is_empty() {
            fs::metadata(file).map_err(|error| format!("open {file}: {error}"))?;
        }
    }
    Ok(())
}
