use std::borrow::Cow;
use std::error::Error;
use std::fmt;
use std::ops::Range;
use std::str::FromStr;

use crate::canonical::canonical;
use crate::{MAX_HASHED_BYTES, MAX_VALUE_BYTES, ValueError, ValueFault};

/// A place in a template that is filled with a value.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Placeholder {
    /// The name and the fields after it: `["id"]` for `{id}`, `["body", "id"]` for `{body.id}`.
    ///
    /// Never empty. The first is a name, the others are names, which may contain `-` as those of
    /// headers do, or tuple indices.
    pub path: Vec<String>,
    /// How the value is made canonical. [`PlaceholderType::Text`] when the template names no type.
    pub ty: PlaceholderType,
    /// What stands for a value that is missing: the `1` of `{query.page|default=1}`. It is a legal
    /// value of the hole, and one with the same text gives the same key.
    pub default: Option<String>,
    /// Whether the key has the value's SHA-256 in its place: `{header.email|hash}`.
    pub hash: bool,
    /// Where the path stands in the template's source, in bytes, without braces, type and
    /// options.
    pub span: Range<usize>,
}

impl Placeholder {
    /// The path as it is written in the template, such as `body.id`.
    pub fn name(&self) -> String {
        self.path.join(".")
    }

    /// The one spelling of `value` for this hole: what a [hashed](Self::hash) hole's digest is made
    /// of.
    ///
    /// # Errors
    ///
    /// [`ValueError`] when the value is empty, too long or not of the hole's type. At most
    /// [`MAX_VALUE_BYTES`] bytes are allowed, in a hashed hole [`MAX_HASHED_BYTES`].
    pub fn canonical<'v>(&self, value: &'v str) -> Result<Cow<'v, str>, ValueError> {
        let most = if self.hash { MAX_HASHED_BYTES } else { MAX_VALUE_BYTES };
        let refuse = |fault| Err(ValueError::of_hole(&self.name(), fault));
        match value.len() {
            0 => refuse(ValueFault::Empty),
            bytes if bytes > most => refuse(ValueFault::TooLong { bytes, most }),
            _ => canonical(self.ty, value)
                .map_or_else(|| refuse(ValueFault::NotOfType { expected: self.ty }), Ok),
        }
    }

    /// Whether what it adds to a key always has the same number of bytes.
    pub(crate) fn is_of_fixed_length(&self) -> bool {
        self.hash || self.ty == PlaceholderType::Uuid
    }
}

/// What kind of value a hole takes, and so which spellings of a value are the same key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum PlaceholderType {
    /// Any text, as it is. What `{id}` means.
    Text,
    /// A whole number from 0 to `u64::MAX`, written without sign and leading zeros.
    U64,
    /// A whole number from `i64::MIN` to `i64::MAX`, written without `+` and leading zeros.
    I64,
    /// A UUID, written in lower case with hyphens.
    Uuid,
    /// Any text, in lower case as Unicode has it.
    Lower,
}

impl PlaceholderType {
    /// Every type, in the order of the documentation.
    pub const ALL: [PlaceholderType; 5] = [
        PlaceholderType::Text,
        PlaceholderType::U64,
        PlaceholderType::I64,
        PlaceholderType::Uuid,
        PlaceholderType::Lower,
    ];

    /// The word that stands for the type in a template, such as `u64`.
    ///
    /// [`PlaceholderType::Text`] has a word for messages alone: in a template it is written by
    /// writing no type.
    pub fn name(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::U64 => "u64",
            Self::I64 => "i64",
            Self::Uuid => "uuid",
            Self::Lower => "lower",
        }
    }
}

impl fmt::Display for PlaceholderType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for PlaceholderType {
    type Err = UnknownPlaceholderType;

    fn from_str(word: &str) -> Result<Self, UnknownPlaceholderType> {
        Self::ALL
            .into_iter()
            .find(|ty| *ty != Self::Text && ty.name() == word)
            .ok_or(UnknownPlaceholderType)
    }
}

/// A word that names no [`PlaceholderType`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnknownPlaceholderType;

impl fmt::Display for UnknownPlaceholderType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("no such hole type; legal are u64, i64, uuid and lower")
    }
}

impl Error for UnknownPlaceholderType {}
