//! How every stage runs: until it has seen what it came for, and with everything removed when it has not.

use std::process::ExitCode;

use crate::{
    signals::Stop,
    stage1::{progress::note, site::Site},
};

/// A stage.
pub(crate) trait Stage {
    /// What it comes to see.
    type Seen;

    /// Does everything up to that.
    async fn play(&mut self) -> anyhow::Result<Self::Seen>;

    /// Where it takes place, which knows everything that it made.
    fn site(self) -> Site;
}

/// How a stage went.
pub(crate) enum Played<S: Stage> {
    /// It has seen it, and everything is up.
    Seen(S, S::Seen),
    /// Somebody wanted it to stop, and everything is removed.
    Stopped(ExitCode),
}

/// Plays `stage`.
///
/// # Errors
/// When it fails, after everything that it made is removed.
pub(crate) async fn play<S: Stage>(mut stage: S, stop: &mut Stop) -> anyhow::Result<Played<S>> {
    let outcome = tokio::select! {
        code = stop.wanted() => Err(code),
        outcome = stage.play() => Ok(outcome),
    };
    match outcome {
        Ok(Ok(seen)) => Ok(Played::Seen(stage, seen)),
        Ok(Err(error)) => {
            let cleared = stage.site().clear(stop).await;
            cleared.unwrap_or_else(|error| note(&format!("{error:#}")));
            Err(error)
        }
        Err(code) => {
            note("Stopping; everything is being removed.");
            stage.site().clear(stop).await?;
            Ok(Played::Stopped(code))
        }
    }
}
