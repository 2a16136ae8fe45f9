use std::error::Error;
use std::fmt;

use crate::{DIGEST_BYTES, MAX_KEY_BYTES, PlaceholderType};

/// The error for a value that is invalid in a key. No lock was requested.
///
/// Its text has the placeholder and the reason, never the value, which may be a secret, or megabytes
/// sent by a client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ValueError {
    placeholder: Option<String>,
    fault: ValueFault,
}

impl ValueError {
    pub(crate) fn of_placeholder(placeholder: &str, fault: ValueFault) -> Self {
        Self { placeholder: Some(placeholder.to_owned()), fault }
    }

    pub(crate) fn of_key(fault: ValueFault) -> Self {
        Self { placeholder: None, fault }
    }

    /// Returns the placeholder whose value was refused; `None` if the whole key was.
    pub fn placeholder(&self) -> Option<&str> {
        self.placeholder.as_deref()
    }

    /// Returns the reason.
    pub fn fault(&self) -> ValueFault {
        self.fault
    }
}

impl fmt::Display for ValueError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(placeholder) = &self.placeholder {
            write!(f, "the value of `{placeholder}` ")?;
        } else {
            f.write_str("the key ")?;
        }
        self.fault.fmt(f)
    }
}

impl Error for ValueError {}

/// The ways in which a value, or the key built from it, can be invalid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ValueFault {
    /// The value is empty.
    Empty,
    /// The value has more bytes than allowed.
    TooLong {
        /// The number of bytes, before encoding.
        bytes: usize,
        /// The limit: [`MAX_VALUE_BYTES`](crate::MAX_VALUE_BYTES), for a hashed placeholder
        /// [`MAX_HASHED_BYTES`](crate::MAX_HASHED_BYTES).
        most: usize,
    },
    /// The placeholder is hashed, and the given text is not a digest.
    NotADigest,
    /// The value is not of the placeholder's type.
    NotOfType {
        /// The placeholder's type.
        expected: PlaceholderType,
    },
    /// The key has more than [`MAX_KEY_BYTES`] bytes.
    KeyTooLong {
        /// The number of bytes, after encoding.
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
                write!(
                    f,
                    "is not a digest; a hashed placeholder takes {DIGEST_BYTES} lower-case hex digits"
                )
            }
            Self::NotOfType { expected } => write!(f, "is not of type {expected}"),
            Self::KeyTooLong { bytes } => {
                write!(f, "has {bytes} bytes; at most {MAX_KEY_BYTES} are allowed")
            }
        }
    }
}
