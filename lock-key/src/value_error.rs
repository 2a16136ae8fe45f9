use std::error::Error;
use std::fmt;

use crate::{DIGEST_BYTES, MAX_KEY_BYTES, PlaceholderType};

/// A value cannot stand in a key. No lock was asked for.
///
/// Its text names the hole and what was wrong, never the value: that may be a secret, or
/// megabytes that a client made up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ValueError {
    hole: Option<String>,
    fault: ValueFault,
}

impl ValueError {
    pub(crate) fn of_hole(hole: &str, fault: ValueFault) -> Self {
        Self { hole: Some(hole.to_owned()), fault }
    }

    pub(crate) fn of_key(fault: ValueFault) -> Self {
        Self { hole: None, fault }
    }

    /// The hole whose value was refused; `None` when the key as a whole was.
    pub fn hole(&self) -> Option<&str> {
        self.hole.as_deref()
    }

    /// What was wrong.
    pub fn fault(&self) -> ValueFault {
        self.fault
    }
}

impl fmt::Display for ValueError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(hole) = &self.hole {
            write!(f, "the value of `{hole}` ")?;
        } else {
            f.write_str("the key ")?;
        }
        self.fault.fmt(f)
    }
}

impl Error for ValueError {}

/// What can be wrong with a value, or with the key made of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ValueFault {
    /// The value has no text.
    Empty,
    /// The value has more bytes than its hole takes.
    TooLong {
        /// How many it has, before encoding.
        bytes: usize,
        /// How many are allowed: [`MAX_VALUE_BYTES`](crate::MAX_VALUE_BYTES), in a hashed hole
        /// [`MAX_HASHED_BYTES`](crate::MAX_HASHED_BYTES).
        most: usize,
    },
    /// The hole is hashed, and what was given for it is no digest.
    NotADigest,
    /// The hole has a type and the value is not of it.
    NotOfType {
        /// The hole's type.
        expected: PlaceholderType,
    },
    /// The key has more than [`MAX_KEY_BYTES`] bytes.
    KeyTooLong {
        /// How many it has, after encoding.
        bytes: usize,
    },
}

impl fmt::Display for ValueFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => f.write_str("is empty"),
            Self::TooLong { bytes, most } => {
                write!(f, "has {bytes} bytes; at most {most} are allowed")
            }
            Self::NotADigest => {
                write!(f, "is no digest; a hashed hole takes {DIGEST_BYTES} lower-case hex digits")
            }
            Self::NotOfType { expected } => write!(f, "is not of type {expected}"),
            Self::KeyTooLong { bytes } => {
                write!(f, "has {bytes} bytes; at most {MAX_KEY_BYTES} are allowed")
            }
        }
    }
}
