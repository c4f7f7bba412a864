//! One request: read, routed, answered.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use axum::extract::{Request, State};
use http::header::{ACCEPT, CONTENT_TYPE};
use http::request::Parts;
use http::{HeaderName, Method};
use tokio_util::sync::CancellationToken;

use super::attributes::attributes;
use super::negotiate::{self, wants_aggregated};
use super::objects::{self, Input};
use super::query::Query;
use super::respond::{self, Answer};
use super::route::{Route, route};
use super::{body, discovery, health, identity, list, openapi, watch};
use crate::api::Api;
use crate::auth::User;
use crate::resources::{Resource, Verbs};
use crate::status::Status;

/// What every request works on.
#[derive(Debug)]
pub(super) struct Server {
    pub(super) api: Api,
    pub(super) stop: CancellationToken,
    /// Whether who gives no credentials is the administrator.
    pub(super) trusting: bool,
}

/// Answers any request.
pub(super) async fn handle(State(server): State<Arc<Server>>, request: Request) -> Answer {
    let (parts, body) = request.into_parts();
    let answer = match guarded(|| server.admit(&parts)) {
        Ok(user) => match body::read(body).await {
            Ok(bytes) => guarded(|| server.answer(&parts, &bytes, &user)),
            Err(status) => Err(status),
        },
        Err(status) => Err(status),
    };
    let answer = answer.unwrap_or_else(|status| respond::refuse(&status));
    tracing::debug!(method = %parts.method, uri = %parts.uri, code = answer.status().as_u16(), "answered");
    answer
}

/// A fault of ours is an answer too, and must not end the connection without one.
fn guarded<T>(answer: impl FnOnce() -> Result<T, Status>) -> Result<T, Status> {
    std::panic::catch_unwind(AssertUnwindSafe(answer)).unwrap_or_else(|_| {
        let message = "the lab cluster failed to answer; its log says where";
        Err(Status::new(500, "InternalError", message))
    })
}

impl Server {
    /// Who asks, if he may.
    fn admit(&self, parts: &Parts) -> Result<User, Status> {
        let user = identity::authenticate(&self.api, &parts.headers, self.trusting)?;
        let user = identity::impersonate(&self.api, user, &parts.headers)?;
        let query = Query::of(&parts.uri);
        let what = attributes(&parts.method, parts.uri.path(), &query);
        identity::allow(&self.api, &user, &what)?;
        Ok(user)
    }

    fn answer(&self, parts: &Parts, bytes: &bytes::Bytes, user: &User) -> Result<Answer, Status> {
        let query = Query::of(&parts.uri);
        let accept = header(parts, &ACCEPT);
        let route = match route(parts.uri.path()) {
            Route::Other(segments) => return other(&segments, parts, &query, accept),
            Route::UnknownResource => return Err(Status::unknown_resource()),
            route => route,
        };
        let input = Input {
            method: &parts.method,
            query: &query,
            content_type: header(parts, &CONTENT_TYPE),
            body: bytes,
            form: negotiate::form(accept)?,
            user,
        };
        match route {
            Route::Collection { resource, namespace, watch } => {
                self.collection(resource, namespace.as_deref(), watch, &input)
            }
            Route::Object { resource, namespace, name, subresource } => {
                if resource.verbs == Verbs::CreateOnly {
                    return Err(Status::method_not_allowed());
                }
                objects::answer(&self.api, resource, (&namespace, &name), &subresource, &input)
            }
            Route::UnknownResource | Route::Other(_) => Err(Status::unknown_resource()),
        }
    }

    fn collection(
        &self,
        resource: &'static Resource,
        namespace: Option<&str>,
        watch_path: bool,
        input: &Input<'_>,
    ) -> Result<Answer, Status> {
        let stored = resource.verbs != Verbs::CreateOnly;
        match *input.method {
            Method::GET if stored => {
                let stop = self.stop.clone();
                let (api, query, form) = (&self.api, input.query, input.form);
                query.check_numbers(&["timeoutSeconds", "limit"])?;
                if watch_path || query.flag("watch") == Some(true) {
                    return watch::watch(api, resource, namespace, query, form, stop);
                }
                list::list(api, resource, namespace, query, form)
            }
            // A namespaced object is created in its namespace and nowhere else.
            Method::POST if namespace.is_some() == resource.namespaced => {
                objects::post(&self.api, resource, namespace.unwrap_or_default(), input)
            }
            Method::DELETE if resource.verbs == Verbs::Stored => {
                objects::delete_collection(&self.api, resource, namespace, input)
            }
            _ => Err(Status::method_not_allowed()),
        }
    }
}

/// Paths that name no resource.
fn other(
    segments: &[String],
    parts: &Parts,
    query: &Query,
    accept: &str,
) -> Result<Answer, Status> {
    let segments: Vec<&str> = segments.iter().map(String::as_str).collect();
    let found = match segments.as_slice() {
        [] => Some(health::paths()),
        ["version"] => Some(health::version()),
        [name @ ("healthz" | "livez" | "readyz"), ..] => {
            Some(health::check(name, !query.all("verbose").is_empty()))
        }
        ["api"] if wants_aggregated(accept) => Some(discovery::aggregated(true)),
        ["apis"] if wants_aggregated(accept) => Some(discovery::aggregated(false)),
        ["api"] => Some(discovery::versions()),
        ["apis"] => Some(discovery::groups()),
        ["api", version] => discovery::resource_list("", version),
        ["apis", group] => discovery::group(group),
        ["apis", group, version] => discovery::resource_list(group, version),
        ["openapi", "v3"] => Some(openapi::index()),
        ["openapi", "v3", rest @ ..] => openapi::of(&rest.join("/")),
        _ => None,
    };
    match found {
        Some(_) if parts.method != Method::GET => Err(Status::method_not_allowed()),
        Some(answer) => Ok(answer),
        None => Ok(respond::text(404, "404 page not found\n")),
    }
}

fn header<'a>(parts: &'a Parts, name: &HeaderName) -> &'a str {
    parts.headers.get(name).and_then(|it| it.to_str().ok()).unwrap_or_default()
}
