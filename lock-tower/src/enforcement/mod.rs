//! For which keys a lock counts, and what is measured where it does not.

pub(crate) mod shadow;
pub(crate) mod split;
