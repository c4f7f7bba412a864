//! Silence by a clock that is wound: nothing here waits.

use std::{
    convert::Infallible,
    sync::{Arc, Mutex},
    time::Duration,
};

use axum::body::Body;
use futures::{StreamExt, stream};
use http::{Request, Response};
use tokio::time::Instant;

use super::*;
use crate::rest::Rest;

const HOUR: Duration = Duration::from_hours(1);

/// What a server does with a request while it is silent.
#[derive(Clone, Copy)]
enum Silence {
    /// Nothing.
    Unanswered,
    /// It begins to answer, and says nothing more.
    Unfinished,
}

/// A server that says `first` to the first request, then is silent for an hour, then says `then`.
/// What was asked lands in the list.
fn server(
    first: Vec<Value>,
    silence: Silence,
    then: Vec<Value>,
) -> (Rest, Arc<Mutex<Vec<String>>>) {
    let asked = Arc::new(Mutex::new(Vec::new()));
    let (start, noted) = (Instant::now(), Arc::clone(&asked));
    let service = tower::service_fn(move |request: Request<kube::client::Body>| {
        let count = {
            let mut noted = noted.lock().unwrap();
            noted.push(request.uri().to_string());
            noted.len()
        };
        let lines = match (count, start.elapsed() < HOUR) {
            (1, _) => first.clone(),
            (_, false) => then.clone(),
            (_, true) => Vec::new(),
        };
        async move {
            if lines.is_empty() && matches!(silence, Silence::Unanswered) {
                std::future::pending::<()>().await;
            }
            let lines = stream::iter(lines).map(|it| Ok::<_, Infallible>(format!("{it}\n")));
            Ok::<_, Infallible>(Response::new(Body::from_stream(lines.chain(stream::pending()))))
        }
    });
    (Rest::new(kube::Client::new(service, "default"), Duration::from_secs(20)), asked)
}

fn watch(rest: &Rest) -> Watching {
    let (tell, told) = mpsc::channel(100);
    let kinds = BTreeSet::from([Kind::Node]);
    Watching { told, watches: Watches::start(rest, &kinds, &WatchOptions::default(), &tell) }
}

#[tokio::test(start_paused = true)]
async fn a_watch_that_is_silent_for_an_hour_is_opened_anew_every_minute_and_a_half() {
    let then = vec![event("ADDED", node("a", 6))];
    let (rest, asked) = server(vec![list_ends(5)], Silence::Unfinished, then);
    let mut watching = watch(&rest);
    assert_eq!(watching.told(2).await, ["synced", "+a@6"]);
    let asked = asked.lock().unwrap();
    assert!((38..=42).contains(&asked.len()), "{}", asked.len());
    assert!(asked[1..].iter().all(|it| it.ends_with("&resourceVersion=5")), "{asked:?}");
}

#[tokio::test(start_paused = true)]
async fn a_server_that_answers_nothing_for_an_hour_leaves_what_was_told_out_of_date() {
    let then = vec![event("ADDED", node("a", 6))];
    let (rest, asked) = server(vec![list_ends(5)], Silence::Unanswered, then);
    let mut watching = watch(&rest);
    assert_eq!(watching.told(3).await, ["synced", "stale", "+a@6"]);
    assert_eq!(watching.told(1).await, ["synced"]);
    let count = asked.lock().unwrap().len();
    assert!((40..=62).contains(&count), "{count}");
}
