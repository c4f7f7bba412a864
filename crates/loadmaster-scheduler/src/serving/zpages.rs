//! `/flagz` and `/statusz`: what the process was started with, and since when it runs.
//!
//! Source: component-base, `zpages`, v1.36 (KEP-4828, KEP-4827).

use std::collections::BTreeMap;

use http::{HeaderMap, HeaderValue, StatusCode, header};
use jiff::Timestamp;
use serde_json::{Value, json};

use super::reply::{self, JSON, Reply, TEXT, reply};

/// What is shown; a page that is off is not there.
#[derive(Clone, Debug, Default)]
pub(crate) struct Zpages {
    /// Every flag with its value.
    pub(crate) flags: Option<BTreeMap<String, String>>,
    /// Whether there is a page about the process.
    pub(crate) status: bool,
}

/// The component's name, as in upstream.
const NAME: &str = "kube-scheduler";
/// What decisions are made as.
const EMULATED: &str = "1.36";
const WARNING: &str = "Warning: This endpoint is not meant to be machine parseable, has no formatting compatibility guarantees and is for debugging purposes only.";

impl Zpages {
    /// What answers at `path`, if that is one of these pages. The process began at `started`, and
    /// `now` is the time.
    pub(super) fn answer(
        &self,
        path: &str,
        headers: &HeaderMap,
        started: Timestamp,
        now: Timestamp,
    ) -> Option<Reply> {
        match path {
            "/flagz" => {
                let flags = self.flags.as_ref()?;
                let lines = flags.iter().map(|(name, value)| format!("{name}={value}"));
                let text = || lines.collect::<Vec<_>>().join("\n") + "\n";
                Some(page("flagz", "Flagz", headers, text, || json!({"flags": flags})))
            }
            "/statusz" if self.status => {
                let up = now.duration_since(started).as_secs().max(0);
                let paths = self.paths();
                let (version, since) = (env!("CARGO_PKG_VERSION"), started.strftime(GO_UNIX_DATE));
                let text = || {
                    let (hours, minutes, seconds) = (up / 3600, up / 60 % 60, up % 60);
                    format!(
                        "Started: {since}\nUp: {hours} hr {minutes:02} min {seconds:02} sec\n\
                         Binary version: {version}\nEmulation version: {EMULATED}\nPaths: {}\n",
                        paths.join(" ")
                    )
                };
                let fields = || {
                    json!({
                        "startTime": format!("{started:.0}"),
                        "uptimeSeconds": up,
                        "goVersion": "",
                        "binaryVersion": version,
                        "emulationVersion": EMULATED,
                        "paths": paths,
                    })
                };
                Some(page("statusz", "Statusz", headers, text, fields))
            }
            _ => None,
        }
    }

    /// The paths that the page about the process names.
    fn paths(&self) -> Vec<&'static str> {
        let all = ["/configz", "/flagz", "/healthz", "/livez", "/metrics", "/readyz"];
        all.into_iter().filter(|it| *it != "/flagz" || self.flags.is_some()).collect()
    }
}

const GO_UNIX_DATE: &str = "%a %b %e %H:%M:%S UTC %Y";

/// A page in the first form that the client takes.
fn page(
    title: &str,
    kind: &str,
    headers: &HeaderMap,
    text: impl FnOnce() -> String,
    fields: impl FnOnce() -> Value,
) -> Reply {
    let accept = headers.get(header::ACCEPT).and_then(|it| it.to_str().ok()).unwrap_or("*/*");
    let Some(form) = accept.split(',').find_map(|it| Form::read(it, kind)) else {
        return reply::not_acceptable();
    };
    let Form::Object { yaml, version } = form else {
        return reply(StatusCode::OK, TEXT, format!("\n{NAME} {title}\n{WARNING}\n{}", text()));
    };
    let mut object = json!({
        "kind": kind,
        "apiVersion": format!("config.k8s.io/{version}"),
        "metadata": {"name": NAME},
    });
    if let (Some(object), Value::Object(fields)) = (object.as_object_mut(), fields()) {
        object.extend(fields);
    }
    let (media, body) = if yaml {
        ("application/yaml", serde_saphyr::to_string(&object).unwrap_or_default())
    } else {
        (JSON, format!("{object:#}"))
    };
    let mut reply = reply(StatusCode::OK, JSON, body);
    let media = format!("{media};g=config.k8s.io;v={version};as={kind}");
    if let Ok(media) = HeaderValue::from_str(&media) {
        reply.headers_mut().insert(header::CONTENT_TYPE, media);
    }
    reply
}

/// A form in which a page can be had.
enum Form {
    Text,
    Object { yaml: bool, version: &'static str },
}

impl Form {
    /// The form that an item of `Accept` asks for, where it is one of the page's.
    fn read(item: &str, kind: &str) -> Option<Self> {
        let mut words = item.split(';').map(str::trim);
        let media = words.next()?;
        let mut has = BTreeMap::new();
        has.extend(words.filter_map(|it| it.split_once('=')));
        let version = match (has.get("as"), has.get("g"), has.get("v")) {
            (Some(it), Some(&"config.k8s.io"), Some(&"v1beta1")) if *it == kind => Some("v1beta1"),
            (Some(it), Some(&"config.k8s.io"), Some(&"v1alpha1")) if *it == kind => {
                Some("v1alpha1")
            }
            _ => None,
        };
        match media {
            "*/*" | "text/*" | "text/plain" => Some(Self::Text),
            "application/json" => Some(Self::Object { yaml: false, version: version? }),
            "application/yaml" => Some(Self::Object { yaml: true, version: version? }),
            _ => None,
        }
    }
}
