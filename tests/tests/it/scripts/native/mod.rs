//! native/*: every reply of each script of the native wire, and the keys in Redis after it.

pub(crate) mod acquire;
pub(crate) mod acquire_all;
pub(crate) mod call;
pub(crate) mod convert;
pub(crate) mod count_permits;
pub(crate) mod force_release;
pub(crate) mod inspect;
pub(crate) mod leave;
pub(crate) mod missing_rights;
pub(crate) mod release;
pub(crate) mod release_free;
pub(crate) mod release_requested;
pub(crate) mod renew;
pub(crate) mod request_release;
mod short_line;
pub(crate) mod standing;
mod stored_forms;
pub(crate) mod transfer;

/// The pieces of what a script's header says of its replies, each with the test that shows it.
pub(crate) type Shown = &'static [(&'static str, fn())];

/// `contract::replies` compares these with the headers.
pub(crate) const SHOWN: [(&str, Shown); 14] = [
    ("native/acquire", acquire::SHOWN),
    ("native/acquire_all", acquire_all::SHOWN),
    ("native/convert", convert::SHOWN),
    ("native/count_permits", count_permits::SHOWN),
    ("native/force_release", force_release::SHOWN),
    ("native/inspect", inspect::SHOWN),
    ("native/leave", leave::SHOWN),
    ("native/missing_rights", missing_rights::SHOWN),
    ("native/release", release::SHOWN),
    ("native/release_free", release_free::SHOWN),
    ("native/release_requested", release_requested::SHOWN),
    ("native/renew", renew::SHOWN),
    ("native/request_release", request_release::SHOWN),
    ("native/transfer", transfer::SHOWN),
];
