//! Which locks there are to share. Kinds have the names of the Rust client's; what Curator makes of
//! them is in `tests/curator`.

/// Every kind that excludes: the holder's, the waiter's, and a key.
pub(crate) const EXCLUDING: [(&str, &str, &str); 9] = [
    ("reentrant", "reentrant", "mutex"),
    ("fair", "reentrant", "fair"),
    ("fenced", "fair", "fenced"),
    ("write", "write", "write-write"),
    ("write", "read", "write-read"),
    ("read", "write", "read-write"),
    ("semaphore/1", "semaphore_mutex", "semaphore"),
    ("semaphore_mutex", "semaphore_mutex", "semaphore-mutex"),
    ("multi", "multi", "one,two"),
];

/// Every kind that can be acquired alone.
pub(crate) const KINDS: [&str; 6] =
    ["reentrant", "fair", "read", "write", "semaphore/1", "semaphore_mutex"];

/// The kinds with an owner that may hold them more than once.
pub(crate) const OWNED: [&str; 5] = ["reentrant", "fair", "fenced", "read", "write"];

/// Those that a crowd counts under, with those that look on meanwhile.
pub(crate) const CROWDED: [(&str, Option<&str>); 3] =
    [("reentrant", None), ("write", Some("read")), ("semaphore_mutex", None)];

/// What a hold of this kind keeps out.
pub(crate) fn excluded(kind: &str) -> &str {
    if kind == "read" { "write" } else { kind }
}
