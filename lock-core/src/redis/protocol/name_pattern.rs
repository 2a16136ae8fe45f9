//! Kinds of names in Redis, for the check of rights.

/// An example of one kind of name that belongs to no lock, and the pattern that grants access to
/// all names of that kind.
#[derive(Debug)]
pub(crate) struct NamePattern {
    pub(crate) name: String,
    pub(crate) pattern: String,
}
