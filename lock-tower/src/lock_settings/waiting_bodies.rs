//! The bodies of requests that wait for one layer's, or one rule's, locks.

use std::sync::{
    Arc,
    atomic::{AtomicBool, AtomicUsize, Ordering},
};

/// The most bytes of them in this process.
pub(crate) const MOST_WAITING: usize = 64 * 1_024 * 1_024;

/// The bytes of bodies that were read and whose requests wait.
#[derive(Debug, Clone, Default)]
pub(crate) struct WaitingBodies(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    bytes: AtomicUsize,
    /// Whether a body was left to the handler because of its type.
    has_left: AtomicBool,
}

impl WaitingBodies {
    /// Whether no body was left to the handler before this one.
    pub(crate) fn is_first_left(&self) -> bool {
        // Nearly every call is not the first, and readers of a flag do not wait for each other.
        !self.0.has_left.load(Ordering::Relaxed) && !self.0.has_left.swap(true, Ordering::Relaxed)
    }
}

/// A part of them, until this is dropped.
#[derive(Debug)]
pub(crate) struct WaitingBody {
    of: WaitingBodies,
    bytes: usize,
}

#[cfg_attr(not(feature = "axum"), expect(dead_code, reason = "only Axum's bodies are read"))]
impl WaitingBody {
    pub(crate) fn of(bodies: Option<&WaitingBodies>) -> Self {
        Self { of: bodies.cloned().unwrap_or_default(), bytes: 0 }
    }

    /// Adds bytes. Returns whether there is room for them.
    pub(crate) fn add(&mut self, bytes: usize) -> bool {
        self.bytes += bytes;
        self.of.0.bytes.fetch_add(bytes, Ordering::Relaxed) + bytes <= MOST_WAITING
    }
}

impl Drop for WaitingBody {
    fn drop(&mut self) {
        self.of.0.bytes.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}
