//! Calls to the API server.

use std::time::Duration;

use http::Method;
use loadmaster_k8s::rest::CallObserver;

use super::Measures;

/// Counts calls to one API server.
#[derive(Debug)]
pub(crate) struct Calls {
    measures: Measures,
    host: String,
}

impl Calls {
    pub(super) fn new(measures: Measures, server: &str) -> Self {
        let uri: Option<http::Uri> = server.parse().ok();
        let host = uri.and_then(|it| it.authority().map(ToString::to_string));
        Self { measures, host: host.unwrap_or_default() }
    }
}

impl Calls {
    fn count(&self, method: &Method, code: Option<u16>) {
        // Upstream's word where there was no answer.
        let code = code.map_or_else(|| "<error>".to_owned(), |it| it.to_string());
        let labels = [&*code, method.as_str(), &*self.host];
        self.measures.families().client_requests.with_label_values(&labels).inc();
    }
}

impl CallObserver for Calls {
    fn answered(&self, method: &Method, code: Option<u16>, took: Duration) {
        self.count(method, code);
        let to = self.measures.families();
        let labels = [method.as_str(), &*self.host];
        to.client_duration.with_label_values(&labels).observe(took.as_secs_f64());
    }

    fn opened(&self, code: Option<u16>) {
        // Upstream counts these and does not time them.
        self.count(&Method::GET, code);
    }
}
