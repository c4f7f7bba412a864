//! Extenders made ready, as far as that goes without a connection.
//!
//! Source: `pkg/scheduler/scheduler.go`, `buildExtenders`, `pkg/scheduler/extender.go` and
//! `k8s.io/client-go/transport`, 1.36.

use std::{fs, io};

use loadmaster_framework::{duration::GoDuration, field::element};
use serde_json::Value;

use crate::{
    catalog::{Catalog, FIT},
    config::{Args, Extender, ExtenderTlsConfig, KubeSchedulerConfiguration},
    error::Problem,
};

/// Fills in the extenders' time-out, looks at their certificates, and hands the resources that the
/// scheduler shall ignore to `NodeResourcesFit`.
pub(crate) fn build(
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

/// Whether a TLS client can be made of what an extender says of certificates.
fn check_tls(extender: &Extender) -> Result<(), String> {
    let none = ExtenderTlsConfig::default();
    let tls = extender.tls_config.as_ref().unwrap_or(&none);
    let given = |file: &str, data: &[u8]| !file.is_empty() || !data.is_empty();
    let has_ca = given(&tls.ca_file, &tls.ca_data.0);
    let insecure = tls.insecure || (extender.enable_https && !has_ca);
    let identified =
        given(&tls.cert_file, &tls.cert_data.0) && given(&tls.key_file, &tls.key_data.0);
    if !has_ca && !identified && !insecure && tls.server_name.is_empty() {
        return Ok(()); // no TLS is asked for, and what else is written goes unused
    }
    if has_ca && insecure {
        let message = "specifying a root certificates file with the insecure flag is not allowed";
        return Err(message.to_owned());
    }
    let ca = contents(&tls.ca_file, &tls.ca_data.0)?;
    let cert = contents(&tls.cert_file, &tls.cert_data.0)?;
    let key = contents(&tls.key_file, &tls.key_data.0)?;
    if !ca.is_empty() && !is_pem(&ca) {
        let message = "unable to load root certificates: unable to parse bytes as PEM block";
        return Err(message.to_owned());
    }
    // A pair of files is read again with each connection, and looked at no sooner.
    let static_pair = !tls.cert_data.0.is_empty() || !tls.key_data.0.is_empty();
    for (what, data) in [("certificate", cert), ("key", key)] {
        if identified && static_pair && !is_pem(&data) {
            return Err(format!("tls: failed to find any PEM data in {what} input"));
        }
    }
    Ok(())
}

/// What is written, else what the file holds.
fn contents(file: &str, data: &[u8]) -> Result<Vec<u8>, String> {
    if !data.is_empty() || file.is_empty() {
        return Ok(data.to_owned());
    }
    fs::read(file).map_err(|error| {
        let why = match error.kind() {
            io::ErrorKind::NotFound => "no such file or directory".to_owned(),
            io::ErrorKind::PermissionDenied => "permission denied".to_owned(),
            _ => error.to_string(),
        };
        format!("open {file}: {why}")
    })
}

fn is_pem(data: &[u8]) -> bool {
    const BEGIN: &[u8] = b"-----BEGIN ";
    data.windows(BEGIN.len()).any(|it| it == BEGIN)
}
