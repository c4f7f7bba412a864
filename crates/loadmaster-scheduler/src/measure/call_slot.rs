//! The call into a plugin that is under way, for a watcher on another thread.

use std::{
    sync::atomic::{
        AtomicU64, AtomicUsize,
        Ordering::{Acquire, Relaxed, Release},
        fence,
    },
    time::Duration,
};

use loadmaster_core::meter::{CallPoint, PluginCall};

/// Published by the core's thread before each call, without a lock and without memory being taken: a
/// call that never returns can be named though its thread will never say anything again.
///
/// Calls are nested at most once: a plugin that asks for what-ifs calls others.
#[derive(Debug, Default)]
pub(super) struct CallSlot {
    depth: AtomicUsize,
    frames: [Frame; 2],
}

/// One call, as words behind a number that is odd while they are being written.
#[derive(Debug, Default)]
struct Frame {
    version: AtomicU64,
    since_nanos: AtomicU64,
    point: AtomicUsize,
    plugin: Words<12>,
    node: Words<33>,
}

/// A call that was under way when it was looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RunningCall {
    /// The plugin.
    pub(crate) plugin: String,
    /// The extension point.
    pub(crate) point: CallPoint,
    /// The node it is asked about; empty where it is about none.
    pub(crate) node: String,
    /// When it began, on the scheduler's clock.
    pub(crate) since: Duration,
}

impl CallSlot {
    pub(super) fn enter(&self, call: PluginCall<'_>, now: Duration) {
        let depth = self.depth.load(Relaxed);
        if let Some(frame) = self.frames.get(depth) {
            frame.write(call, now);
        }
        self.depth.store(depth + 1, Release);
    }

    pub(super) fn leave(&self) {
        self.depth.store(self.depth.load(Relaxed).saturating_sub(1), Release);
    }

    /// The innermost call that is under way; `None` also where it changed while it was read.
    pub(super) fn read(&self) -> Option<RunningCall> {
        let depth = self.depth.load(Acquire);
        let frame = &self.frames[depth.min(self.frames.len()).checked_sub(1)?];
        frame.read()
    }
}

impl Frame {
    fn write(&self, PluginCall { plugin, point, node }: PluginCall<'_>, now: Duration) {
        let version = self.version.load(Relaxed);
        self.version.store(version.wrapping_add(1), Relaxed);
        fence(Release);
        self.since_nanos.store(u64::try_from(now.as_nanos()).unwrap_or(u64::MAX), Relaxed);
        self.point.store(point as usize, Relaxed);
        self.plugin.write(plugin);
        self.node.write(node.unwrap_or_default());
        self.version.store(version.wrapping_add(2), Release);
    }

    fn read(&self) -> Option<RunningCall> {
        let version = self.version.load(Acquire);
        let call = RunningCall {
            plugin: self.plugin.read(),
            point: *CallPoint::ALL.get(self.point.load(Relaxed))?,
            node: self.node.read(),
            since: Duration::from_nanos(self.since_nanos.load(Relaxed)),
        };
        fence(Acquire);
        let unchanged = version.is_multiple_of(2) && self.version.load(Relaxed) == version;
        unchanged.then_some(call)
    }
}

/// A text of at most `8 * (N - 1)` bytes; what is longer is cut.
#[derive(Debug)]
struct Words<const N: usize>([AtomicU64; N]);

impl<const N: usize> Default for Words<N> {
    fn default() -> Self {
        Self(std::array::from_fn(|_| AtomicU64::new(0)))
    }
}

impl<const N: usize> Words<N> {
    fn write(&self, text: &str) {
        let [length, words @ ..] = &self.0[..] else { return };
        let bytes = &text.as_bytes()[..text.len().min(words.len() * 8)];
        length.store(bytes.len() as u64, Relaxed);
        for (word, chunk) in words.iter().zip(bytes.chunks(8)) {
            let mut padded = [0; 8];
            padded[..chunk.len()].copy_from_slice(chunk);
            word.store(u64::from_le_bytes(padded), Relaxed);
        }
    }

    fn read(&self) -> String {
        let [length, words @ ..] = &self.0[..] else { return String::new() };
        let length = usize::try_from(length.load(Relaxed)).unwrap_or(0).min(words.len() * 8);
        let used = &words[..length.div_ceil(8)];
        let mut bytes: Vec<u8> =
            used.iter().flat_map(|it| it.load(Relaxed).to_le_bytes()).collect();
        bytes.truncate(length);
        String::from_utf8_lossy(&bytes).into_owned()
    }
}
