//! One file per command: its arguments, its work, and its output.

pub(crate) mod check;
pub(crate) mod completions;
pub(crate) mod explain;
pub(crate) mod graph;
pub(crate) mod inspect;
pub(crate) mod list;
pub(crate) mod man;
pub(crate) mod permits;
pub(crate) mod release;
pub(crate) mod schema;
pub(crate) mod watch;
