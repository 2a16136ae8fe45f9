//! The names of znodes, as Curator writes them: `_c_<uuid>-<label><sequence>`.
//!
//! All of them are under the path of their lock:
//!
//! | child | type | meaning |
//! |---|---|---|
//! | `_c_<uuid>-lock-<sequence>` | ephemeral sequential | contender of a mutex |
//! | `_c_<uuid>-__WRIT__<sequence>` | ephemeral sequential | writer |
//! | `_c_<uuid>-__READ__<sequence>` | ephemeral sequential | reader; ephemeral alone, with the write's own sequence, after a downgrade |
//! | `locks/_c_<uuid>-lock-<sequence>` | ephemeral sequential | turn at a semaphore's permits |
//! | `leases/_c_<uuid>-lease-<sequence>` | ephemeral sequential | permit in use |
//!
//! Everything above them is a container, which the server removes once it is empty. The uuid is drawn
//! anew for each znode: it finds a znode whose creation was not answered.
//!
//! The contenders of Kazoo, of Python, are read too. The sequence orders those of all clients:
//!
//! | child | meaning |
//! |---|---|
//! | `<uuid>__lock__<sequence>` | contender of its `Lock`, a mutex, or of its `WriteLock` |
//! | `<uuid>__rlock__<sequence>` | its `ReadLock` |
//! | `__lock__` | folder of its `Semaphore`, which has no recipe in common with ours |

use lock_store::{Kind, Mode};
use uuid::Uuid;

/// The folder of a semaphore in which the contenders for the next permit queue.
pub(crate) const TURNS: &str = "locks";
/// The folder of a semaphore's permits in use.
pub(crate) const PERMITS: &str = "leases";

/// The folder of a semaphore of Kazoo in which the contenders for the next permit queue.
pub(crate) const KAZOO_TURNS: &str = "__lock__";

/// The meaning of a znode.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    Mutex,
    Read,
    Write,
    Permit,
    /// Of Kazoo alone: a mutex, or a writer.
    MutexOrWrite,
}

/// How the names of each role end, before the sequence. New names have the first of a role.
const LABELS: [(Role, &str); 6] = [
    (Role::Mutex, "lock-"),
    (Role::Read, "__READ__"),
    (Role::Write, "__WRIT__"),
    (Role::Permit, "lease-"),
    (Role::MutexOrWrite, "__lock__"),
    (Role::Read, "__rlock__"),
];

impl Role {
    pub(crate) fn of(kind: Kind, mode: Mode) -> Self {
        match (kind, mode) {
            (Kind::Semaphore, _) => Self::Permit,
            (kind, Mode::Read) if kind.has_readers() => Self::Read,
            (kind, Mode::Write) if kind.has_readers() => Self::Write,
            _ => Self::Mutex,
        }
    }

    fn label(self) -> &'static str {
        let found = LABELS.iter().find(|(role, _)| *role == self);
        found.expect("BUG: each role has a label").1
    }

    /// The beginning of a new znode's name, up to its sequence.
    pub(crate) fn new_name(self) -> String {
        format!("_c_{}-{}", Uuid::new_v4(), self.label())
    }
}

/// A child of a lock's path that takes part in the lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ContenderName<'a> {
    pub(crate) name: &'a str,
    pub(crate) role: Role,
    /// Compared as text, as Curator does: after 2,147,483,647 the numbers are negative, and a `-`
    /// sorts before every digit.
    pub(crate) sequence: &'a str,
}

impl<'a> ContenderName<'a> {
    pub(crate) fn parse(name: &'a str) -> Option<Self> {
        let found = LABELS.into_iter().find_map(|(role, label)| {
            let at = name.rfind(label)?;
            Some((role, &name[at + label.len()..]))
        });
        let (role, sequence) = found?;
        let digits = sequence.strip_prefix('-').unwrap_or(sequence);
        // Ten characters at least, a minus included: `lock-7` may be a key of a user.
        let is_number = digits.len() >= 9 && digits.bytes().all(|byte| byte.is_ascii_digit());
        is_number.then_some(Self { name, role, sequence })
    }
}

/// Whether a child that is no contender ends in a sequence. If it is ephemeral, it contends for a lock
/// by a recipe that is not known here. Otherwise it is the folder of a key such as `user/1700000000`.
pub(crate) fn may_be_a_stranger(child: &str) -> bool {
    let sequence = child.len().checked_sub(10).and_then(|at| child.get(at..));
    sequence.is_some_and(|sequence| sequence.bytes().all(|byte| byte.is_ascii_digit()))
        && ContenderName::parse(child).is_none()
}

/// The contenders among the children of a path, in the order of their arrival.
pub(crate) fn in_order(children: &[String]) -> Vec<ContenderName<'_>> {
    let mut all: Vec<_> = children.iter().filter_map(|name| ContenderName::parse(name)).collect();
    all.sort_by(|one, other| one.sequence.cmp(other.sequence));
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_curator_are_understood_and_others_are_not() {
        let parsed = |name| ContenderName::parse(name).map(|one| (one.role, one.sequence));
        let uuid = "_c_2f1c9f0e-6f7b-4b3e-9d5e-0e5a0f2d7f11-";
        for (role, label) in LABELS {
            let name = format!("{uuid}{label}0000000012");
            assert_eq!(
                ContenderName::parse(&name).map(|one| (one.role, one.sequence)),
                Some((role, "0000000012"))
            );
            assert!(!may_be_a_stranger(&name));
        }
        assert_eq!(
            parsed("lock-0000000001"),
            Some((Role::Mutex, "0000000001")),
            "without protection"
        );
        assert_eq!(parsed("_c_x-lock--2147483648"), Some((Role::Mutex, "-2147483648")));
        for other in
            ["locks", "leases", "order:42", "lock-", "lock-7", "lock-000000001a", "__READ__"]
        {
            assert_eq!(parsed(other), None, "{other}");
            assert!(!may_be_a_stranger(other));
        }
        for stranger in ["write-0000000001", "0000000001", "x-1-0000000002", "é0000000001"] {
            assert!(parsed(stranger).is_none() && may_be_a_stranger(stranger), "{stranger}");
        }
        assert!(!may_be_a_stranger("é00000000"), "ten bytes that are no ten digits");
    }

    #[test]
    fn order_is_that_of_the_sequence_whatever_the_uuid() {
        let names =
            ["_c_a-__WRIT__0000000010", "_c_b-__READ__0000000002", "x", "_c_0-__READ__0000000011"];
        let names = names.map(str::to_owned);
        let order: Vec<_> = in_order(&names).iter().map(|one| one.sequence).collect();
        assert_eq!(order, ["0000000002", "0000000010", "0000000011"]);
    }
}
