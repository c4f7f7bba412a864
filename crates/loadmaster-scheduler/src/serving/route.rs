//! Which path shows what, and to whom.

use std::{convert::Infallible, sync::Arc};

use http::{HeaderMap, HeaderValue, Method, Request, StatusCode, header};
use rustls::pki_types::CertificateDer;

use super::{
    Board,
    access::{Access, Decision},
    health::Health,
    reply::{self, JSON, Reply, TEXT, reply},
};

/// What is served on one listener.
#[derive(Clone, Debug)]
pub(super) struct Routes {
    health: Health,
    board: Board,
    /// Who may; absent, everyone.
    access: Option<Arc<Access>>,
}

const SLIS: &str = "/metrics/slis";
/// The content type of metrics, as upstream writes it.
const METRICS: &str = "text/plain; version=0.0.4; charset=utf-8; escaping=underscores";

impl Routes {
    pub(super) fn new(health: Health, board: Board, access: Option<Arc<Access>>) -> Self {
        Self { health, board, access }
    }

    /// Answers a request of a client that showed `certificates`.
    pub(super) async fn answer<B>(
        &self,
        request: Request<B>,
        certificates: &[CertificateDer<'static>],
    ) -> Result<Reply, Infallible> {
        let (head, _) = request.into_parts();
        let path = head.uri.path();
        if let Some(access) = &self.access {
            let verb = head.method.as_str().to_ascii_lowercase();
            match access.decide(&verb, path, &head.headers, certificates).await {
                Decision::Allowed => {}
                Decision::Unauthorized => return Ok(reply::unauthorized()),
                Decision::Forbidden { user, reason } => {
                    return Ok(reply::forbidden(&user, &verb, path, &reason));
                }
                Decision::Unknown(why) => {
                    return Ok(reply::internal_error(&head.uri.to_string(), &why));
                }
            }
        }
        if head.method == Method::DELETE && path == SLIS {
            self.board.measures().families().slis.reset();
            return Ok(reply(StatusCode::OK, TEXT, "metrics reset\n"));
        }
        if head.method != Method::GET && head.method != Method::HEAD {
            let mut answer = reply::error(StatusCode::METHOD_NOT_ALLOWED, "Method Not Allowed");
            answer.headers_mut().insert(header::ALLOW, HeaderValue::from_static("GET, HEAD"));
            return Ok(answer);
        }
        Ok(self.show(path, head.uri.query().unwrap_or_default(), &head.headers))
    }

    fn show(&self, path: &str, query: &str, headers: &HeaderMap) -> Reply {
        if let Some(page) = self.board.zpage(path, headers) {
            return page;
        }
        match path {
            SLIS => reply(StatusCode::OK, METRICS, self.board.measures().families().slis.text()),
            "/metrics/resources" => reply(StatusCode::OK, METRICS, self.board.pod_resources()),
            "/metrics" => reply(StatusCode::OK, METRICS, self.board.metrics()),
            "/configz" => reply(StatusCode::OK, JSON, self.board.configz().as_bytes().to_vec()),
            _ => self.health.answer(path, query).unwrap_or_else(reply::not_found),
        }
    }
}
