//! Names of locks: of layers, attributes, rules, and direct acquisitions.

use std::{fmt, ops::Deref, sync::Arc};

/// The name of a lock in logs, metrics and problem documents: a layer's, an attribute's or that of a
/// direct acquisition.
#[derive(Debug, Clone)]
pub enum LockName {
    /// A name in the program.
    Fixed(&'static str),
    /// A name from a file, or set by the program.
    Shared(Arc<str>),
}

impl Deref for LockName {
    type Target = str;

    fn deref(&self) -> &str {
        match self {
            Self::Fixed(name) => name,
            Self::Shared(name) => name,
        }
    }
}

impl fmt::Display for LockName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self)
    }
}

impl From<&'static str> for LockName {
    fn from(name: &'static str) -> Self {
        Self::Fixed(name)
    }
}

impl From<String> for LockName {
    fn from(name: String) -> Self {
        Self::Shared(name.into())
    }
}
