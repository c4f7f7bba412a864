use std::time::Duration;

use http::StatusCode;
use http_body_util::BodyExt as _;
use loadmaster_core::meter::{CallPoint, Meter, PluginCall};
use tokio_util::sync::CancellationToken;

use crate::serving::{Board, health::Health, reply::not_found};

fn board() -> Board {
    Board::new(Some(Duration::from_nanos(1)), CancellationToken::new())
}

/// The status and the text at a path; 404 where nothing is.
async fn at(board: &Board, path: &str, query: &str) -> (StatusCode, String) {
    let reply = Health::new(board.clone()).answer(path, query).unwrap_or_else(not_found);
    let status = reply.status();
    let body = reply.into_body().collect().await.unwrap().to_bytes();
    (status, String::from_utf8(body.to_vec()).unwrap())
}

fn fine(text: &str) -> (StatusCode, String) {
    (StatusCode::OK, text.to_owned())
}

fn unwell(text: &str) -> (StatusCode, String) {
    (StatusCode::INTERNAL_SERVER_ERROR, text.to_owned())
}

#[tokio::test]
async fn what_is_well_says_ok_and_more_when_it_is_asked() {
    let board = board();
    board.set_synced();
    assert_eq!(at(&board, "/livez", "").await, fine("ok"));
    assert_eq!(
        at(&board, "/livez", "verbose").await,
        fine("[+]ping ok\n[+]plugin-calls ok\nlivez check passed\n")
    );
    assert_eq!(
        at(&board, "/readyz", "verbose=1").await,
        fine("[+]shutdown ok\n[+]sched-handler-sync ok\nreadyz check passed\n")
    );
    assert_eq!(at(&board, "/livez/ping", "").await, fine("ok"));
    assert_eq!(at(&board, "/livez/shutdown", "").await.0, StatusCode::NOT_FOUND);
    assert_eq!(at(&board, "/livezz", "").await.0, StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn checks_can_be_left_out_and_unknown_ones_are_named() {
    // The original's text for `exclude=shutdown&verbose&exclude=zzz`, but for its election.
    let board = board();
    board.set_synced();
    assert_eq!(
        at(&board, "/readyz", "exclude=shutdown&verbose&exclude=zzz").await,
        fine(
            "[+]shutdown excluded: ok\n[+]sched-handler-sync ok\nwarn: some health checks cannot be \
             excluded: no matches for \"zzz\"\nreadyz check passed\n"
        )
    );
}

#[tokio::test]
async fn it_is_not_ready_before_the_cluster_is_known_and_when_it_stops() {
    let board = board();
    assert_eq!(
        at(&board, "/readyz", "").await,
        unwell(
            "[+]shutdown ok\n[-]sched-handler-sync failed: reason withheld\nreadyz check failed\n"
        )
    );
    assert_eq!(
        at(&board, "/readyz/sched-handler-sync", "").await,
        unwell("internal server error: handlers are not fully synchronized\n")
    );
    board.set_synced();
    board.stopping().cancel();
    assert_eq!(
        at(&board, "/readyz/shutdown", "").await,
        unwell("internal server error: process is shutting down\n")
    );
    assert_eq!(at(&board, "/livez", "").await, fine("ok"));
}

#[tokio::test]
async fn a_call_that_does_not_return_is_named_with_its_plugin_point_and_node() {
    let board = board();
    let call = PluginCall { plugin: "Slow", point: CallPoint::Filter, node: Some("n1") };
    board.meter().enter(call);
    // Three nanoseconds are over when the coarse clock ticks.
    while board.meter().running_call().is_some_and(|(_, age)| age.is_zero()) {
        std::thread::yield_now();
    }
    assert_eq!(
        at(&board, "/livez", "").await,
        unwell("[+]ping ok\n[-]plugin-calls failed: reason withheld\nlivez check failed\n")
    );
    assert_eq!(
        at(&board, "/livez/plugin-calls", "").await,
        unwell(
            "internal server error: plugin Slow has not returned from Filter for node n1 for 0 s\n"
        )
    );
    board.meter().leave();
    assert_eq!(at(&board, "/livez", "").await, fine("ok"));
}

#[tokio::test]
async fn what_a_path_checks_is_counted_and_neither_single_checks_nor_those_left_out_are() {
    let board = board();
    board.set_synced();
    for (path, query) in [
        ("/readyz", "exclude=shutdown"),
        ("/readyz", ""),
        ("/readyz/shutdown", ""),
        ("/livez", ""),
        ("/healthz/ping", ""),
    ] {
        at(&board, path, query).await;
    }
    board.stopping().cancel();
    at(&board, "/readyz", "").await;
    let slis = &board.measures().families().slis;
    let counted = |page: &str| -> Vec<_> {
        let ours = page.lines().filter(|it| it.starts_with("kubernetes_"));
        ours.map(|it| it.trim_start_matches("kubernetes_").to_owned()).collect()
    };
    let expected = [
        r#"healthcheck{name="ping",type="livez"} 1"#,
        r#"healthcheck{name="plugin-calls",type="livez"} 1"#,
        r#"healthcheck{name="sched-handler-sync",type="readyz"} 1"#,
        r#"healthcheck{name="shutdown",type="readyz"} 0"#,
        r#"healthchecks_total{name="ping",status="success",type="livez"} 1"#,
        r#"healthchecks_total{name="plugin-calls",status="success",type="livez"} 1"#,
        r#"healthchecks_total{name="sched-handler-sync",status="success",type="readyz"} 3"#,
        r#"healthchecks_total{name="shutdown",status="error",type="readyz"} 1"#,
        r#"healthchecks_total{name="shutdown",status="success",type="readyz"} 1"#,
    ];
    assert_eq!(counted(&slis.text()), expected);
    slis.reset();
    assert_eq!(counted(&slis.text()), [""; 0]);
    assert!(slis.text().contains("process_start_time_seconds"));
}
