//! Where a polled feed comes from.

use std::{collections::BTreeMap, fmt, future::Future, pin::Pin, sync::Arc, time::Duration};

use loadmaster_k8s::feed::Fetcher;
use serde_json::Value;
use tokio::{runtime::Handle, task::JoinHandle};

/// What a source says: facts by what they are about.
pub(crate) type Said = Result<BTreeMap<String, Value>, String>;
/// Asks a source once.
pub(crate) type Poll = Arc<dyn Fn() -> Pin<Box<dyn Future<Output = Said> + Send>> + Send + Sync>;

/// The sources that a program has registered, by the names of their feeds.
#[derive(Clone, Default)]
pub(crate) struct FeedSources(BTreeMap<String, Poll>);

impl fmt::Debug for FeedSources {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}

impl FeedSources {
    /// Registers a source. Returns whether the name was free.
    pub(crate) fn insert(&mut self, name: String, poll: Poll) -> bool {
        self.0.insert(name, poll).is_none()
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }

    pub(super) fn get(&self, name: &str) -> Option<Poll> {
        self.0.get(name).cloned()
    }
}

/// A source, ready to be asked.
pub(super) enum Source {
    Http(Fetcher),
    Registered {
        poll: Poll,
        /// An answer that took too long for whoever asked, and when it was asked for.
        late: Option<(Duration, JoinHandle<Said>)>,
    },
    /// Answers as a test says, on the test's own thread.
    #[cfg(test)]
    Scripted(Poll),
}

/// What a source answers.
pub(super) enum Answer {
    /// A document, to be taken apart.
    Document(Value),
    /// Facts.
    Facts(BTreeMap<String, Value>),
}

impl Source {
    pub(super) fn registered(poll: Poll) -> Self {
        Self::Registered { poll, late: None }
    }

    /// Asks at `now`; the answer, and when it was asked for. May be dropped while it waits; a source
    /// that has not answered is not asked twice.
    pub(super) async fn ask(&mut self, now: Duration) -> Result<(Duration, Answer), String> {
        match self {
            Self::Http(fetcher) => {
                let document = fetcher.fetch().await.map_err(|error| error.to_string())?;
                Ok((now, Answer::Document(document)))
            }
            #[cfg(test)]
            Self::Scripted(poll) => Ok((now, Answer::Facts(poll().await?))),
            Self::Registered { poll, late } => {
                let (asked, task) = late.get_or_insert_with(|| {
                    let (poll, runtime) = (Arc::clone(poll), Handle::current());
                    // A source that blocks its thread blocks nobody else's.
                    let task = tokio::task::spawn_blocking(move || runtime.block_on(poll()));
                    (now, task)
                });
                let (asked, said) = (*asked, task.await);
                *late = None;
                match said {
                    Ok(said) => Ok((asked, Answer::Facts(said?))),
                    Err(_) => Err("the source panicked".to_owned()),
                }
            }
        }
    }
}
