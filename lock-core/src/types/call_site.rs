//! Where in the program a lock is acquired. Release builds do not know.

use std::fmt;
#[cfg(debug_assertions)]
use std::{panic::Location, sync::Arc};

/// Where in the program a lock is acquired.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CallSite(#[cfg(debug_assertions)] Site);

#[cfg(debug_assertions)]
#[derive(Debug, Clone, PartialEq, Eq)]
enum Site {
    At(&'static Location<'static>),
    Named(Arc<str>),
}

#[cfg(debug_assertions)]
impl CallSite {
    #[track_caller]
    pub(crate) fn here() -> Self {
        Self(Site::At(Location::caller()))
    }

    pub(crate) fn named(name: &str) -> Self {
        Self(Site::Named(name.into()))
    }
}

#[cfg(not(debug_assertions))]
impl CallSite {
    pub(crate) fn here() -> Self {
        Self()
    }

    pub(crate) fn named(_name: &str) -> Self {
        Self()
    }
}

impl fmt::Display for CallSite {
    #[cfg(debug_assertions)]
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Site::At(location) => location.fmt(f),
            Site::Named(name) => name.fmt(f),
        }
    }

    #[cfg(not(debug_assertions))]
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("somewhere")
    }
}
