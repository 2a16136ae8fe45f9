use std::borrow::Cow;
use std::error::Error;
use std::fmt;
use std::ops::Range;
use std::str::FromStr;

use crate::normalize::normalize;
use crate::{MAX_HASHED_BYTES, MAX_VALUE_BYTES, ValueError, ValueFault};

/// A placeholder: a place in a template that is filled with a value.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Placeholder {
    /// The name and the fields after it: `["id"]` for `{id}`, `["body", "id"]` for `{body.id}`.
    ///
    /// Never empty. The first is a name, the others are names, which may contain `-` as those of
    /// headers do, or tuple indices.
    pub path: Vec<String>,
    /// How the value is normalized. [`PlaceholderType::Text`] if the template names no type.
    pub ty: PlaceholderType,
    /// Whether the template names the type: `{id:text}`, not `{id}`.
    pub is_typed: bool,
    /// The default for a missing value: the `1` of `{query.page|default=1}`. It is a valid value of the
    /// placeholder, and a value with the same text gives the same key.
    pub default: Option<String>,
    /// Whether the key has the value's SHA-256 instead of the value: `{header.email|hash}`.
    pub hash: bool,
    /// The place of the path in the template's source, in bytes, without braces, type and options.
    pub span: Range<usize>,
}

impl Placeholder {
    /// Returns the path as it is written in the template, such as `body.id`.
    pub fn name(&self) -> String {
        self.borrowed_name().into_owned()
    }

    /// As [`name`](Self::name), without a copy where the path has one field.
    pub(crate) fn borrowed_name(&self) -> Cow<'_, str> {
        match &*self.path {
            [name] => Cow::Borrowed(name),
            path => Cow::Owned(path.join(".")),
        }
    }

    /// Returns the canonical spelling of `value` for this placeholder. A [hashed](Self::hash) one has its
    /// digest.
    ///
    /// # Errors
    ///
    /// [`ValueError`] if the value is empty, too long or not of the placeholder's type. At most
    /// [`MAX_VALUE_BYTES`] bytes are allowed, [`MAX_HASHED_BYTES`] if it is hashed.
    pub fn canonical<'v>(&self, value: &'v str) -> Result<Cow<'v, str>, ValueError> {
        let most = if self.hash { MAX_HASHED_BYTES } else { MAX_VALUE_BYTES };
        let refuse = |fault| Err(ValueError::of_placeholder(&self.name(), fault));
        match value.len() {
            0 => refuse(ValueFault::Empty),
            bytes if bytes > most => refuse(ValueFault::TooLong { bytes, most }),
            _ => normalize(self.ty, value)
                .map_or_else(|| refuse(ValueFault::NotOfType { expected: self.ty }), Ok),
        }
    }

    /// Returns whether it always adds the same number of bytes to a key.
    pub(crate) fn is_of_fixed_length(&self) -> bool {
        self.hash || self.ty == PlaceholderType::Uuid
    }
}

/// The type of a placeholder's values, which decides which spellings of a value give the same key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum PlaceholderType {
    /// Any text, unchanged: `{id:text}`, or `{id}` without a type.
    Text,
    /// A whole number from 0 to `u64::MAX`, written without sign and leading zeros.
    U64,
    /// A whole number from `i64::MIN` to `i64::MAX`, written without `+` and leading zeros.
    I64,
    /// A UUID, written in lower case with hyphens.
    Uuid,
    /// Any text, in Unicode lower case.
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

    /// Returns the word for the type in a template, such as `u64`.
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
        Self::ALL.into_iter().find(|ty| ty.name() == word).ok_or(UnknownPlaceholderType)
    }
}

/// The error for a word that is not a [`PlaceholderType`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnknownPlaceholderType;

impl fmt::Display for UnknownPlaceholderType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("no such placeholder type; legal are u64, i64, uuid, lower and text")
    }
}

impl Error for UnknownPlaceholderType {}
