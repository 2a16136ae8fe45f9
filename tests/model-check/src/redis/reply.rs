//! What a command, or a script, says.

/// A reply of the older protocol, which is what scripts see.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reply {
    /// `:1`
    Int(i64),
    /// `$3`
    Bulk(Vec<u8>),
    /// `$-1`
    Nil,
    /// `+OK`
    Status(String),
    /// `-ERR ...`
    Error(String),
    /// `*2`
    Array(Vec<Reply>),
}

impl Reply {
    pub(super) fn ok() -> Self {
        Self::Status("OK".into())
    }

    pub(super) fn error(text: &str) -> Self {
        Self::Error(text.into())
    }

    pub(super) fn wrong_type() -> Self {
        Self::error("WRONGTYPE Operation against a key holding the wrong kind of value")
    }

    pub(super) fn count(count: usize) -> Self {
        Self::Int(i64::try_from(count).unwrap_or(i64::MAX))
    }

    pub(super) fn bulk(bytes: &[u8]) -> Self {
        Self::Bulk(bytes.to_vec())
    }

    pub(super) fn maybe(bytes: Option<&Vec<u8>>) -> Self {
        bytes.map_or(Self::Nil, |bytes| Self::bulk(bytes))
    }

    /// The text of a bulk reply or a status.
    #[must_use]
    pub fn text(&self) -> Option<&str> {
        match self {
            Self::Bulk(bytes) => std::str::from_utf8(bytes).ok(),
            Self::Status(text) => Some(text),
            _ => None,
        }
    }

    /// The number of a number, also of one that a script returns within a text.
    #[must_use]
    pub fn int(&self) -> Option<i64> {
        match self {
            Self::Int(number) => Some(*number),
            Self::Bulk(_) => self.text()?.parse().ok(),
            _ => None,
        }
    }

    /// As a list, also from a script that returns its parts with spaces between.
    #[must_use]
    pub fn in_parts(self) -> Self {
        match self {
            Self::Bulk(text) => {
                Self::Array(text.split(|byte| *byte == b' ').map(Self::bulk).collect())
            }
            other => other,
        }
    }

    /// The parts of an array.
    #[must_use]
    pub fn parts(&self) -> &[Reply] {
        match self {
            Self::Array(parts) => parts,
            _ => &[],
        }
    }
}
