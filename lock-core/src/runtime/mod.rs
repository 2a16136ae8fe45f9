//! What every layer above stands on.

pub(crate) mod sync;
