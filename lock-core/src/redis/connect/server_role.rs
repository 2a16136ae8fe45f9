//! The role of a server: primary or replica.

/// Returns whether the text of `INFO replication` is that of a replica.
pub(crate) fn is_replica(info: &str) -> bool {
    info.lines().any(|line| line == "role:slave")
}
