//! What the tests of the scripts share: calls, keys, a server, what is published.

pub(crate) mod call;
pub(crate) mod keys;
mod published;
pub(crate) mod redisson;
pub(crate) mod store;
pub(crate) mod waiter;
