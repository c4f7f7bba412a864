//! From the command line to a cluster that answers and permits what is needed; meanwhile it is served
//! that the process lives.

use std::{sync::Arc, time::Duration};

use loadmaster_k8s::{
    act::CALL_LIMIT,
    client::{self, ClientOptions, Cluster, ConnectError, Found},
};

use super::StartChecks;
use crate::{
    app::ServingFlags,
    host::host,
    serving::{self, Board, Serving},
};

/// A server that is away is asked again after this long.
const PAUSE: Duration = Duration::from_secs(2);

/// Begins to serve, and finds the cluster. A `lasting` process waits for a server that is away.
///
/// # Errors
/// What keeps the process from starting.
pub(super) async fn begin(
    client: &ClientOptions,
    serving: &ServingFlags,
    board: &Board,
    checks: &StartChecks,
    lasting: bool,
) -> anyhow::Result<(Cluster, Serving)> {
    let mut found = client::find(client, CALL_LIMIT).await?;
    let calls = board.measures().calls_to(&found.server);
    found.rest = found.rest.with_observer(Arc::new(calls));
    let serving = serving::start(serving, board.clone(), &found.rest).await?;
    if !serving.addresses.is_empty() {
        tracing::info!(at = serving.addresses.join(","), "health and metrics are served");
    }
    let cluster = answer(&found, lasting).await?;
    let Cluster { server, source_name, version, .. } = &cluster;
    tracing::info!(server, from = source_name, version, "connected");
    checks.run(&cluster, &host()).await?;
    Ok((cluster, serving))
}

/// The cluster, once it answers. A copy that contends for a lease is started again by whoever keeps
/// it running, ever more slowly the more often it ends; so it does not end for what passes by itself.
async fn answer(found: &Found, lasting: bool) -> Result<Cluster, ConnectError> {
    let mut said = false;
    loop {
        match found.answer().await {
            Err(error) if lasting && error.may_pass() => {
                if !std::mem::replace(&mut said, true) {
                    tracing::warn!("{error}; trying again until it can be used");
                }
                tokio::time::sleep(PAUSE).await;
            }
            answer => return answer,
        }
    }
}
