//! Which locks there are to share.

use lock_tests::Cli;

/// Every kind that excludes: the holder's, and the waiter's.
pub(crate) const EXCLUDING: [(&str, &str); 7] = [
    ("write", "write"),
    ("write", "read"),
    ("read", "write"),
    ("reentrant", "reentrant"),
    ("fair", "fair"),
    ("fenced", "fenced"),
    (MUTEX, MUTEX),
];

/// Every kind that can be acquired alone.
pub(crate) const KINDS: [&str; 6] = ["read", "write", "reentrant", "fair", "fenced", MUTEX];

/// The kinds with an owner that may hold them more than once.
pub(crate) const OWNED: [&str; 5] = ["read", "write", "reentrant", "fair", "fenced"];

/// Those that a crowd counts under, with those that look on meanwhile.
pub(crate) const CROWDED: [(&str, Option<&str>); 5] =
    [("write", Some("read")), ("reentrant", None), ("fair", None), ("fenced", None), (MUTEX, None)];

/// A semaphore that excludes.
pub(crate) const MUTEX: &str = "semaphore/1";

/// What a hold of this kind keeps out.
pub(crate) fn excluded(kind: &str) -> &str {
    if kind == "read" { "write" } else { kind }
}

/// The channel where the end of a hold of this kind is published. Waiters for fair locks have one
/// each, which follows.
pub(crate) fn channel(kind: &str, key: &str) -> String {
    match kind {
        "read" | "write" => format!("redisson_rwlock:{{{key}}}"),
        MUTEX => format!("redisson_sc:{{{key}}}"),
        _ => format!("redisson_lock__channel:{{{key}}}"),
    }
}

/// The number of holds in Redis of the lock's owner.
pub(crate) async fn field(cli: &Cli, kind: &str, key: &str) -> u32 {
    let fields = cli.hash(key).await;
    let write = kind == "write";
    let own = |name: &str| name != "mode" && name.ends_with(":write") == write;
    let counts: Vec<_> = fields.iter().filter(|(name, _)| own(name)).collect();
    assert_eq!(counts.len(), 1, "{fields:?}");
    counts[0].1.parse().expect("a count")
}
