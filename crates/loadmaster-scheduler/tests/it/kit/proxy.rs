//! A proxy in front of an API server that does to calls and watches what networks and servers do:
//! delays, resets, truncated streams, repeated events, refusals. What it does is drawn from a seed.
//!
//! Events of one kind keep their order; kinds overtake each other.

use std::{
    collections::{BTreeMap, VecDeque},
    convert::Infallible,
    io,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use axum::{
    Router,
    body::Body,
    extract::{Request, State},
    response::Response,
};
use futures::{AsyncBufReadExt, stream};
use http::{Method, StatusCode, Uri, header};
use serde_json::json;
use tokio::{net::TcpListener, sync::mpsc, task::JoinHandle, time::sleep};

use super::dice::Dice;

/// See the [module](self).
pub(crate) struct Proxy {
    url: String,
    shared: Arc<Shared>,
    task: JoinHandle<()>,
}

struct Shared {
    target: kube::Client,
    dice: Mutex<Dice>,
    mix: Mix,
    calm: AtomicBool,
    /// The next binding is to come again in a second.
    busy: AtomicBool,
    /// The versions that watches of a path told of lately.
    told: Mutex<BTreeMap<String, VecDeque<String>>>,
    tally: Mutex<BTreeMap<&'static str, u64>>,
}

/// How often what happens, in thousandths; the seed draws that too.
struct Mix {
    call: Vec<(Fault, u64)>,
    open: Vec<(Fault, u64)>,
    /// A watch breaks after a line.
    broken: u64,
    /// A list breaks after a line; a list has hundreds, and begins anew each time.
    list_broken: u64,
    /// A line is late.
    late: u64,
    /// A watch goes on from an earlier version than was asked for.
    repeated: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    None,
    /// The request is late.
    Delay,
    /// The connection breaks before the server has seen anything.
    ResetBefore,
    /// The server does it, and the connection breaks.
    ResetAfter,
    /// The server does it, and half the answer arrives.
    Truncate,
    /// The server does it twice; the second answer arrives.
    Twice,
    /// The server does it, and something between says otherwise.
    DeniedAfter,
    /// Refused with this status before anything is done.
    Refuse(u16),
}

impl Mix {
    fn draw(dice: &mut Dice) -> Self {
        let mut often = |most: u64| dice.below(most + 1);
        let call = vec![
            (Fault::Delay, often(100)),
            (Fault::ResetBefore, often(30)),
            (Fault::ResetAfter, often(30)),
            (Fault::Truncate, often(20)),
            (Fault::Twice, often(30)),
            (Fault::DeniedAfter, often(20)),
            (Fault::Refuse(409), often(20)),
            (Fault::Refuse(429), often(10)),
            (Fault::Refuse(500), often(30)),
            (Fault::Refuse(503), often(30)),
        ];
        let open = vec![
            (Fault::Delay, often(200)),
            (Fault::ResetBefore, often(40)),
            (Fault::Refuse(410), often(40)),
            (Fault::Refuse(429), often(20)),
            (Fault::Refuse(500), often(40)),
            (Fault::Refuse(503), often(40)),
        ];
        let (broken, list_broken) = (3 + often(9), often(1));
        let (late, repeated) = (often(50), 100 + often(400));
        Self { call, open, broken, list_broken, late, repeated }
    }
}

impl Proxy {
    pub(crate) async fn start(target: kube::Client, seed: u64) -> Self {
        let mut dice = Dice::new(seed);
        let mix = Mix::draw(&mut dice);
        let shared = Arc::new(Shared {
            target,
            dice: Mutex::new(dice),
            mix,
            calm: AtomicBool::new(true),
            busy: AtomicBool::new(false),
            told: Mutex::default(),
            tally: Mutex::default(),
        });
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let router = Router::new().fallback(relay).with_state(Arc::clone(&shared));
        let task = tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        Self { url, shared, task }
    }

    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    /// Whether nothing goes wrong from now on, as in the beginning.
    pub(crate) fn calm(&self, calm: bool) {
        self.shared.calm.store(calm, Ordering::Relaxed);
    }

    /// The next binding is put off by a second.
    pub(crate) fn put_off(&self) {
        self.shared.busy.store(true, Ordering::Relaxed);
    }

    /// What it did, and how often.
    pub(crate) fn tally(&self) -> BTreeMap<&'static str, u64> {
        self.shared.tally.lock().unwrap().clone()
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Shared {
    /// Whether something that happens `often` times in a thousand happens now.
    fn happens(&self, often: u64) -> bool {
        !self.calm.load(Ordering::Relaxed) && self.dice.lock().unwrap().below(1000) < often
    }

    fn below(&self, bound: u64) -> u64 {
        self.dice.lock().unwrap().below(bound)
    }

    fn fault(&self, mix: &[(Fault, u64)]) -> Fault {
        if self.calm.load(Ordering::Relaxed) {
            return Fault::None;
        }
        let mut drawn = self.below(1000);
        for &(fault, often) in mix {
            if drawn < often {
                self.count(name(fault));
                return fault;
            }
            drawn -= often;
        }
        Fault::None
    }

    fn count(&self, what: &'static str) {
        *self.tally.lock().unwrap().entry(what).or_default() += 1;
    }

    async fn pause(&self, millis_max: u64) {
        let pause = self.below(millis_max);
        sleep(Duration::from_millis(pause)).await;
    }
}

fn name(fault: Fault) -> &'static str {
    match fault {
        Fault::None => "nothing",
        Fault::Delay => "delay",
        Fault::ResetBefore => "reset before",
        Fault::ResetAfter => "reset after",
        Fault::Truncate => "truncated answer",
        Fault::Twice => "done twice",
        Fault::DeniedAfter => "done and denied",
        Fault::Refuse(409) => "409",
        Fault::Refuse(410) => "410",
        Fault::Refuse(429) => "429",
        Fault::Refuse(500) => "500",
        Fault::Refuse(_) => "503",
    }
}

async fn relay(
    State(shared): State<Arc<Shared>>,
    request: Request,
) -> Result<Response, Infallible> {
    let (head, body) = request.into_parts();
    let body = axum::body::to_bytes(body, usize::MAX).await.unwrap_or_default().to_vec();
    let mut forward = http::Request::builder().method(head.method.clone());
    let path = head.uri.path_and_query().map(ToString::to_string).unwrap_or_default();
    for name in [header::ACCEPT, header::CONTENT_TYPE] {
        if let Some(value) = head.headers.get(&name) {
            forward = forward.header(name, value);
        }
    }
    Ok(if path.contains("watch=true") {
        watch(shared, &head.uri).await
    } else {
        call(&shared, forward.uri(path).body(body).unwrap()).await
    })
}

async fn call(shared: &Shared, request: http::Request<Vec<u8>>) -> Response {
    let binds = request.uri().path().ends_with("/binding");
    if binds && shared.busy.swap(false, Ordering::Relaxed) {
        return refused(429);
    }
    let fault = shared.fault(&shared.mix.call);
    match fault {
        // A read conflicts with nothing.
        Fault::Refuse(409) if request.method() == Method::GET => {}
        Fault::Refuse(status) => return refused(status),
        Fault::ResetBefore => return broken(&[]),
        Fault::Delay => shared.pause(400).await,
        Fault::Twice => drop(forward(shared, &request).await),
        _ => {}
    }
    let (status, body) = forward(shared, &request).await;
    match fault {
        Fault::ResetAfter => broken(&[]),
        Fault::Truncate => broken(&body[..body.len() / 2]),
        Fault::DeniedAfter => refused(504),
        _ => json(status, Body::from(body)),
    }
}

async fn forward(shared: &Shared, request: &http::Request<Vec<u8>>) -> (StatusCode, Vec<u8>) {
    let (head, body) = request.clone().into_parts();
    let request = http::Request::from_parts(head, kube::client::Body::from(body));
    match shared.target.send(request).await {
        Ok(answer) => {
            let (head, body) = answer.into_parts();
            (head.status, body.collect_bytes().await.unwrap_or_default().to_vec())
        }
        Err(error) => (StatusCode::BAD_GATEWAY, error.to_string().into_bytes()),
    }
}

/// A watch, from an earlier place than asked for or not, until it breaks.
async fn watch(shared: Arc<Shared>, uri: &Uri) -> Response {
    match shared.fault(&shared.mix.open) {
        Fault::Refuse(status) => return refused(status),
        Fault::ResetBefore => return broken(&[]),
        Fault::Delay => shared.pause(400).await,
        _ => {}
    }
    let asked = uri.path_and_query().map(ToString::to_string).unwrap_or_default();
    let asked = earlier(&shared, uri.path(), asked);
    let request = http::Request::get(asked).body(Vec::new()).unwrap();
    let mut lines = match shared.target.request_stream(request).await {
        Ok(lines) => Box::pin(lines).lines(),
        Err(kube::Error::Api(status)) => {
            let code = StatusCode::from_u16(status.code).unwrap();
            return json(code, Body::from(serde_json::to_string(&status).unwrap()));
        }
        Err(error) => panic!("the server behind the proxy: {error}"),
    };
    let path = uri.path().to_owned();
    let mut listing = uri.query().is_some_and(|it| it.contains("sendInitialEvents"));
    let (give, mut taken) = mpsc::channel::<io::Result<Vec<u8>>>(64);
    tokio::spawn(async move {
        while let Some(Ok(line)) = futures::StreamExt::next(&mut lines).await {
            if shared.happens(shared.mix.late) {
                shared.count("late event");
                shared.pause(60).await;
            }
            listing = listing && !line.contains("initial-events-end");
            let often = if listing { shared.mix.list_broken } else { shared.mix.broken };
            let broken = shared.happens(often);
            note(&shared, &path, &line);
            let mut line = line.into_bytes();
            line.push(b'\n');
            if !broken {
                if give.send(Ok(line)).await.is_err() {
                    return;
                }
                continue;
            }
            let _ = match shared.below(4) {
                0 => {
                    shared.count("watch ended");
                    give.send(Ok(line)).await
                }
                1 => {
                    shared.count("watch forgotten");
                    let expired = json!({"type": "ERROR", "object": status(410)});
                    give.send(Ok(format!("{expired}\n").into_bytes())).await
                }
                2 => {
                    shared.count("watch reset");
                    give.send(Err(io::Error::other("reset"))).await
                }
                _ => {
                    shared.count("watch truncated");
                    line.truncate(line.len() / 2);
                    give.send(Ok(line)).await
                }
            };
            return;
        }
    });
    json(StatusCode::OK, Body::from_stream(stream::poll_fn(move |cx| taken.poll_recv(cx))))
}

/// The request, with an earlier version in it where a server that lags behind is to answer.
fn earlier(shared: &Shared, path: &str, asked: String) -> String {
    let Some((_, version)) = asked.split_once("resourceVersion=") else { return asked };
    let version: String = version.chars().take_while(char::is_ascii_digit).collect();
    if version.is_empty() || !shared.happens(shared.mix.repeated) {
        return asked;
    }
    let told = shared.told.lock().unwrap();
    let Some(old) = told.get(path).and_then(VecDeque::front) else { return asked };
    shared.count("events repeated");
    asked.replace(&format!("resourceVersion={version}"), &format!("resourceVersion={old}"))
}

/// Remembers the version of a line that was told.
fn note(shared: &Shared, path: &str, line: &str) {
    const REMEMBERED: usize = 40;
    let Some((_, version)) = line.split_once(r#""resourceVersion":""#) else { return };
    let version = version.split('"').next().unwrap_or_default().to_owned();
    let mut told = shared.told.lock().unwrap();
    let told = told.entry(path.to_owned()).or_default();
    told.push_back(version);
    if told.len() > REMEMBERED {
        told.pop_front();
    }
}

fn json(status: StatusCode, body: Body) -> Response {
    let response = Response::builder().status(status);
    response.header(header::CONTENT_TYPE, "application/json").body(body).unwrap()
}

fn status(code: u16) -> serde_json::Value {
    json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code,
           "reason": "Injected", "message": "refused by the proxy"})
}

fn refused(code: u16) -> Response {
    let mut response =
        json(StatusCode::from_u16(code).unwrap(), Body::from(status(code).to_string()));
    if code == 429 {
        response.headers_mut().insert(header::RETRY_AFTER, 1.into());
    }
    response
}

/// An answer that breaks off after `part`.
fn broken(part: &[u8]) -> Response {
    let parts = [Ok(part.to_vec()), Err(io::Error::other("reset"))];
    let mut response = json(StatusCode::OK, Body::from_stream(stream::iter(parts)));
    response.headers_mut().insert(header::CONTENT_LENGTH, (part.len() + 7).into());
    response
}
