//! What can stand under a key.

/// A member of a sorted set.
#[derive(Debug, Clone, PartialEq)]
pub struct Scored {
    /// Where it stands.
    pub score: f64,
    /// The name of the member.
    pub member: Vec<u8>,
}

/// A value of one of the types that the scripts use.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// A string.
    Text(Vec<u8>),
    /// Fields in the order in which they came, as Redis keeps few of them.
    Hash(Vec<(Vec<u8>, Vec<u8>)>),
    /// A list, its head first.
    List(Vec<Vec<u8>>),
    /// Members in their order.
    Set(Vec<Vec<u8>>),
    /// By score, and by member where scores are the same.
    Sorted(Vec<Scored>),
}

impl Value {
    /// Whether this byte of a name occurs in it.
    pub(crate) fn names(&self, symbol: u8) -> bool {
        let has = |bytes: &[u8]| bytes.contains(&symbol);
        match self {
            Self::Text(text) => has(text),
            Self::Hash(fields) => fields.iter().any(|(field, _)| has(field)),
            Self::List(items) | Self::Set(items) => items.iter().any(|item| has(item)),
            Self::Sorted(members) => members.iter().any(|one| has(&one.member)),
        }
    }

    /// As `TYPE` says it.
    #[must_use]
    pub fn type_name(&self) -> &'static str {
        match self {
            Self::Text(_) => "string",
            Self::Hash(_) => "hash",
            Self::List(_) => "list",
            Self::Set(_) => "set",
            Self::Sorted(_) => "zset",
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        match self {
            Self::Text(_) => false,
            Self::Hash(fields) => fields.is_empty(),
            Self::List(items) | Self::Set(items) => items.is_empty(),
            Self::Sorted(members) => members.is_empty(),
        }
    }
}
