//! One file per command: its arguments, what it does, and how it tells of it.

pub(crate) mod check;
pub(crate) mod explain;
pub(crate) mod inspect;
pub(crate) mod list;
pub(crate) mod release;
pub(crate) mod schema;
