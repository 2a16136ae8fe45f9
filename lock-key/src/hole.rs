use std::error::Error;
use std::fmt;
use std::ops::Range;
use std::str::FromStr;

/// A place in a template that is filled with a value.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Hole {
    /// The name and the fields after it: `["id"]` for `{id}`, `["body", "id"]` for `{body.id}`.
    ///
    /// Never empty. The first is a name, the others are names or tuple indices.
    pub path: Vec<String>,
    /// How the value is made canonical. [`HoleType::Text`] when the template names no type.
    pub ty: HoleType,
    /// Where the path stands in the template's source, in bytes, without braces and type.
    pub span: Range<usize>,
}

impl Hole {
    /// The path as it is written in the template, such as `body.id`.
    pub fn name(&self) -> String {
        self.path.join(".")
    }
}

/// What kind of value a hole takes, and so which spellings of a value are the same key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum HoleType {
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

impl HoleType {
    /// Every type, in the order of the documentation.
    pub const ALL: [HoleType; 5] =
        [HoleType::Text, HoleType::U64, HoleType::I64, HoleType::Uuid, HoleType::Lower];

    /// The word that stands for the type in a template, such as `u64`.
    ///
    /// [`HoleType::Text`] has a word for messages alone: in a template it is written by
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

impl fmt::Display for HoleType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for HoleType {
    type Err = UnknownHoleType;

    fn from_str(word: &str) -> Result<Self, UnknownHoleType> {
        Self::ALL
            .into_iter()
            .find(|ty| *ty != Self::Text && ty.name() == word)
            .ok_or(UnknownHoleType)
    }
}

/// A word that names no [`HoleType`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnknownHoleType;

impl fmt::Display for UnknownHoleType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("no such hole type; legal are u64, i64, uuid and lower")
    }
}

impl Error for UnknownHoleType {}
