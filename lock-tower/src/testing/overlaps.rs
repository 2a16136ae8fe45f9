use std::{
    collections::HashMap,
    panic::Location,
    sync::{Arc, MutexGuard},
};

use lock_core::__private::Mutex;

/// Detects critical sections that overlap. The handler under test enters one where it relies on its
/// lock, and the test checks for overlaps afterwards.
///
/// ```
/// use lock_tower::testing::Overlaps;
///
/// let overlaps = Overlaps::new();
/// {
///     let _reader = overlaps.read("report");
///     let _other = overlaps.read("report"); // readers may
/// }
/// drop(overlaps.write("report"));
/// overlaps.assert_none();
/// assert_eq!(overlaps.entered(), 3); // a test without overlapping calls proves nothing
/// ```
///
/// Cheap to clone; clones share their state.
#[derive(Debug, Clone, Default)]
pub struct Overlaps(Arc<Mutex<OverlapState>>);

#[derive(Debug, Default)]
struct OverlapState {
    inside: HashMap<String, Vec<Entrance>>,
    entered: usize,
    overlaps: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Entrance {
    number: usize,
    writes: bool,
    at: &'static Location<'static>,
}

/// A section that ends when this guard is dropped: from [`Overlaps::write`] or [`Overlaps::read`].
#[must_use = "the section ends as soon as this is dropped"]
#[derive(Debug)]
pub struct OverlapGuard {
    overlaps: Overlaps,
    key: String,
    number: usize,
}

impl Overlaps {
    /// Creates a detector without sections.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Enters a section that must not overlap with any other.
    #[track_caller]
    pub fn write(&self, key: impl Into<String>) -> OverlapGuard {
        self.enter(key.into(), true, Location::caller())
    }

    /// Enters a section that may overlap with other readers.
    #[track_caller]
    pub fn read(&self, key: impl Into<String>) -> OverlapGuard {
        self.enter(key.into(), false, Location::caller())
    }

    /// Returns the number of sections entered so far.
    #[must_use]
    pub fn entered(&self) -> usize {
        self.seen().entered
    }

    /// Panics if a writer's section overlapped with another section.
    ///
    /// # Panics
    ///
    /// If there was an overlap; the message has the keys and the places.
    #[track_caller]
    pub fn assert_none(&self) {
        let overlaps = self.seen().overlaps.clone();
        assert!(overlaps.is_empty(), "{}", overlaps.join("\n"));
    }

    fn enter(&self, key: String, writes: bool, at: &'static Location<'static>) -> OverlapGuard {
        let mut seen = self.seen();
        let seen = &mut *seen;
        seen.entered += 1;
        let number = seen.entered;
        let inside = seen.inside.entry(key.clone()).or_default();
        for other in inside.iter().filter(|other| other.writes || writes) {
            seen.overlaps.push(format!("\"{key}\": {at} entered while {} was inside", other.at));
        }
        inside.push(Entrance { number, writes, at });
        OverlapGuard { overlaps: self.clone(), key, number }
    }

    fn seen(&self) -> MutexGuard<'_, OverlapState> {
        self.0.lock()
    }
}

impl Drop for OverlapGuard {
    fn drop(&mut self) {
        let mut seen = self.overlaps.seen();
        if let Some(inside) = seen.inside.get_mut(&self.key) {
            inside.retain(|entrance| entrance.number != self.number);
            if inside.is_empty() {
                seen.inside.remove(&self.key);
            }
        }
    }
}
