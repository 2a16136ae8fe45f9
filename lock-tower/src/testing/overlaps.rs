use std::{
    collections::HashMap,
    panic::Location,
    sync::{Arc, MutexGuard},
};

use lock_core::__private::Mutex;

/// Watches who is inside at the same time: a handler under test enters where it relies on its lock,
/// and the test asks afterwards.
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
/// assert_eq!(overlaps.entered(), 3); // a test in which nobody came shows nothing
/// ```
///
/// Cheap to clone; clones watch together.
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

/// Somebody is inside until this is dropped: from [`Overlaps::write`] or [`Overlaps::read`].
#[must_use = "whoever is inside leaves as soon as this is dropped"]
#[derive(Debug)]
pub struct OverlapGuard {
    overlaps: Overlaps,
    key: String,
    number: usize,
}

impl Overlaps {
    /// Nobody is inside.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Enters alone.
    #[track_caller]
    pub fn write(&self, key: impl Into<String>) -> OverlapGuard {
        self.enter(key.into(), true, Location::caller())
    }

    /// Enters beside others who read.
    #[track_caller]
    pub fn read(&self, key: impl Into<String>) -> OverlapGuard {
        self.enter(key.into(), false, Location::caller())
    }

    /// How many have entered so far.
    #[must_use]
    pub fn entered(&self) -> usize {
        self.seen().entered
    }

    /// Panics if anybody was inside together with somebody who writes.
    ///
    /// # Panics
    ///
    /// With the keys and the places.
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
