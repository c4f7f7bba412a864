//! What containers print, kept in memory line by line for `kubectl logs`.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::{BufMut as _, Bytes, BytesMut};
use jiff::Timestamp;
use tokio::io::{AsyncBufReadExt as _, AsyncRead, AsyncReadExt as _, BufReader};
use tokio::sync::watch;

/// What is kept of one container's run; a kubelet turns its files at the same size.
const KEPT_MAX: usize = 10 << 20;
/// The longest line that is kept as one, as runtimes have it.
const LINE_MAX: u64 = 16 << 10;

/// The output of one run of a container. Cheap to clone; all clones are the same log.
#[derive(Clone, Debug)]
pub struct Log(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    lines: Mutex<Lines>,
    changed: watch::Sender<()>,
}

#[derive(Debug, Default)]
struct Lines {
    kept: VecDeque<Line>,
    /// The number of the first line that is kept.
    first: u64,
    bytes: usize,
    ended: bool,
}

/// A line and when it came.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Line {
    time: Timestamp,
    text: Bytes,
}

impl Default for Log {
    fn default() -> Self {
        let changed = watch::Sender::new(());
        Self(Arc::new(Inner { lines: Mutex::default(), changed }))
    }
}

impl Log {
    /// Adds a line with its end, if it has one.
    pub(super) fn push(&self, text: Bytes, time: Timestamp) {
        let mut lines = self.lock();
        lines.bytes += text.len();
        lines.kept.push_back(Line { time, text });
        while lines.bytes > KEPT_MAX {
            let Some(dropped) = lines.kept.pop_front() else { break };
            lines.bytes -= dropped.text.len();
            lines.first += 1;
        }
        drop(lines);
        self.0.changed.send_replace(());
    }

    /// Nothing will be added any more.
    pub(super) fn end(&self) {
        self.lock().ended = true;
        self.0.changed.send_replace(());
    }

    /// The last lines, for a message: at most 80 lines and 2048 bytes, as a kubelet takes them.
    pub(super) fn tail(&self) -> String {
        let lines = self.lock();
        let from = lines.kept.len().saturating_sub(80);
        let bytes: Vec<u8> =
            lines.kept.range(from..).flat_map(|it| it.text.iter().copied()).collect();
        let from = bytes.len().saturating_sub(2048);
        String::from_utf8_lossy(&bytes[from..]).into_owned()
    }

    /// Copies everything that comes from `output` into the log, until its end.
    pub(super) async fn copy(self, output: impl AsyncRead + Unpin) {
        let mut output = BufReader::new(output);
        loop {
            let mut line = Vec::new();
            let read = (&mut output).take(LINE_MAX).read_until(b'\n', &mut line).await;
            if !read.is_ok_and(|it| it > 0) {
                return;
            }
            self.push(line.into(), Timestamp::now());
        }
    }

    fn lock(&self) -> MutexGuard<'_, Lines> {
        self.0.lines.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Which part of a log is wanted: `PodLogOptions`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LogOptions {
    /// Whether to go on with what comes.
    pub follow: bool,
    /// So many lines of what is there.
    pub tail: Option<u64>,
    /// Only lines from then on.
    pub since: Option<Timestamp>,
    /// Whether each line begins with its time.
    pub timestamps: bool,
    /// So many bytes altogether.
    pub limit_bytes: Option<u64>,
}

/// A reader of a log.
#[derive(Debug)]
pub struct LogReader {
    log: Log,
    options: LogOptions,
    next: u64,
    left: u64,
    changed: watch::Receiver<()>,
}

impl LogReader {
    /// Reads the part of the log that the options ask for.
    pub fn new(log: Log, options: LogOptions) -> Self {
        let lines = log.lock();
        let from = options.tail.map_or(0, |tail| (lines.kept.len() as u64).saturating_sub(tail));
        let next = lines.first + from;
        drop(lines);
        let changed = log.0.changed.subscribe();
        Self { log, options, next, left: options.limit_bytes.unwrap_or(u64::MAX), changed }
    }

    /// What there is to read; waits for more where that is wanted. `None` at the end.
    pub async fn next(&mut self) -> Option<Bytes> {
        loop {
            self.changed.mark_unchanged();
            let (bytes, ended) = self.ready();
            if !bytes.is_empty() {
                return Some(bytes);
            }
            if ended || !self.options.follow || self.left == 0 {
                return None;
            }
            self.changed.changed().await.ok()?;
        }
    }

    /// What there is to read now, and whether nothing can follow.
    fn ready(&mut self) -> (Bytes, bool) {
        let lines = self.log.lock();
        // Lines that were dropped before they were read are skipped.
        let from = usize::try_from(self.next.saturating_sub(lines.first)).unwrap_or(usize::MAX);
        let mut bytes = BytesMut::new();
        for line in lines.kept.range(from.min(lines.kept.len())..) {
            if self.options.since.is_some_and(|since| line.time < since) {
                continue;
            }
            if self.options.timestamps {
                bytes.put_slice(
                    line.time.strftime("%Y-%m-%dT%H:%M:%S.%9fZ ").to_string().as_bytes(),
                );
            }
            bytes.put_slice(&line.text);
        }
        self.next = lines.first + lines.kept.len() as u64;
        bytes.truncate(usize::try_from(self.left).unwrap_or(usize::MAX).min(bytes.len()));
        self.left -= bytes.len() as u64;
        (bytes.freeze(), lines.ended)
    }
}

/// The logs of every container that was run: this run's and the one before.
#[derive(Debug, Default)]
pub struct LogBook {
    logs: Mutex<BTreeMap<(String, String), Runs>>,
}

#[derive(Debug, Default)]
struct Runs {
    current: Log,
    previous: Option<Log>,
}

impl LogBook {
    /// Begins the log of another run of the pod's container.
    pub(super) fn begin(&self, pod: &str, container: &str) -> Log {
        let log = Log::default();
        let mut logs = self.lock();
        let runs = logs.entry((pod.to_owned(), container.to_owned()));
        runs.and_modify(|it| it.previous = Some(std::mem::replace(&mut it.current, log.clone())))
            .or_insert_with(|| Runs { current: log.clone(), previous: None });
        log
    }

    /// The log of a run of the container of the pod with this uid.
    pub fn find(&self, pod: &str, container: &str, previous: bool) -> Option<Log> {
        let logs = self.lock();
        let runs = logs.get(&(pod.to_owned(), container.to_owned()))?;
        if previous { runs.previous.clone() } else { Some(runs.current.clone()) }
    }

    /// Drops the logs of a pod that is gone.
    pub(super) fn forget(&self, pod: &str) {
        self.lock().retain(|(uid, _), _| uid != pod);
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<(String, String), Runs>> {
        self.logs.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn log(lines: &[&str]) -> Log {
        let log = Log::default();
        for (second, line) in (0..).zip(lines) {
            log.push(Bytes::copy_from_slice(line.as_bytes()), Timestamp::new(second, 5).unwrap());
        }
        log
    }

    async fn read(log: &Log, options: LogOptions) -> String {
        let mut reader = LogReader::new(log.clone(), options);
        let mut text = Vec::new();
        while let Some(bytes) = reader.next().await {
            text.extend_from_slice(&bytes);
        }
        String::from_utf8(text).unwrap()
    }

    #[tokio::test]
    async fn the_options_choose_the_part() {
        let log = log(&["a\n", "b\n", "c\n"]);
        let all = LogOptions::default();
        assert_eq!(read(&log, all).await, "a\nb\nc\n");
        assert_eq!(read(&log, LogOptions { tail: Some(2), ..all }).await, "b\nc\n");
        assert_eq!(read(&log, LogOptions { tail: Some(0), ..all }).await, "");
        let since = Some(Timestamp::new(2, 0).unwrap());
        assert_eq!(read(&log, LogOptions { since, ..all }).await, "c\n");
        assert_eq!(read(&log, LogOptions { limit_bytes: Some(3), ..all }).await, "a\nb");
        let timed = read(&log, LogOptions { timestamps: true, tail: Some(1), ..all }).await;
        assert_eq!(timed, "1970-01-01T00:00:02.000000005Z c\n");
    }

    #[tokio::test]
    async fn a_follower_gets_what_comes_until_the_end() {
        let log = log(&["a\n"]);
        let follow = LogOptions { follow: true, ..LogOptions::default() };
        let mut reader = LogReader::new(log.clone(), follow);
        assert_eq!(reader.next().await.unwrap(), "a\n");
        let writer = async {
            tokio::task::yield_now().await;
            log.push("b".into(), Timestamp::now());
            log.end();
        };
        let (read, ()) = tokio::join!(reader.next(), writer);
        assert_eq!(read.unwrap(), "b");
        assert_eq!(reader.next().await, None);
    }

    #[test]
    fn old_lines_go_when_there_are_too_many() {
        let log = Log::default();
        let line = Bytes::from(vec![b'x'; 1 << 20]);
        let mut reader = LogReader::new(log.clone(), LogOptions::default());
        for _ in 0..12 {
            log.push(line.clone(), Timestamp::now());
        }
        assert_eq!(log.lock().first, 2);
        assert_eq!(reader.ready().0.len(), 10 << 20);
    }

    #[tokio::test]
    async fn output_is_cut_into_lines_and_the_last_one_needs_no_end() {
        let log = Log::default();
        log.clone().copy(&b"one\ntwo"[..]).await;
        assert_eq!(log.lock().kept.len(), 2);
        assert_eq!(log.tail(), "one\ntwo");
    }

    #[test]
    fn the_run_before_is_kept_and_a_pod_that_went_forgotten() {
        let book = LogBook::default();
        let first = book.begin("u", "c");
        first.push("1".into(), Timestamp::now());
        assert!(book.find("u", "c", true).is_none());
        book.begin("u", "c").push("2".into(), Timestamp::now());
        assert_eq!(book.find("u", "c", true).unwrap().tail(), "1");
        assert_eq!(book.find("u", "c", false).unwrap().tail(), "2");
        book.forget("u");
        assert!(book.find("u", "c", false).is_none());
    }
}
