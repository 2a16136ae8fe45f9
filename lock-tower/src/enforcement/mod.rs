//! Decides for which keys a lock is enforced, and measures the others.

pub(crate) mod shadow;
pub(crate) mod shadow_log;
pub(crate) mod split;
