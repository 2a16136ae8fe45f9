//! The rules of Curator's locks, and of Kazoo's: which contenders hold a lock, and for which one another waits.

use super::names::{ContenderName, KAZOO_TURNS, PERMITS, Role, TURNS, in_order};

/// The position of a contender among the children of its lock's path.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Position {
    Holds,
    /// It waits until this one is gone.
    Behind(String),
    /// It is not there: its session has ended, or an operator has deleted it.
    Gone,
    /// Contenders of another recipe are under the same path.
    OtherRecipe,
}

/// A mutex is held by the first, a read/write lock by the first writer, or by the readers that no
/// writer precedes.
///
/// A reader waits for the last writer before it, not for the first as Curator's does: either way it
/// enters when all of them are gone, and this way it is woken once.
pub(crate) fn position_of(children: &[String], own: &str) -> Position {
    let all = in_order(children);
    let Some(at) = all.iter().position(|one| one.name == own) else { return Position::Gone };
    if !is_one_recipe(children, all[at].role) {
        return Position::OtherRecipe;
    }
    let before = &all[..at];
    let in_the_way = match all[at].role {
        Role::Read => before.iter().rev().find(|one| one.role != Role::Read),
        _ => before.last(),
    };
    in_the_way.map_or(Position::Holds, |one| Position::Behind(one.name.to_owned()))
}

/// Whether a contender that came now would have to wait for another of its recipe.
pub(crate) fn is_in_the_way(children: &[String], role: Role) -> bool {
    is_one_recipe(children, role)
        && in_order(children).iter().any(|one| role != Role::Read || one.role != Role::Read)
}

/// Whether only contenders of one recipe are among the children.
fn is_one_recipe(children: &[String], role: Role) -> bool {
    children.iter().all(|child| match ContenderName::parse(child) {
        Some(other) => is_recipe_of(role, other.role),
        None => !matches!(child.as_str(), TURNS | PERMITS | KAZOO_TURNS),
    })
}

fn is_recipe_of(role: Role, other: Role) -> bool {
    match other {
        Role::Mutex | Role::Permit => role == other,
        Role::Read | Role::Write => matches!(role, Role::Read | Role::Write),
        Role::MutexOrWrite => role != Role::Permit,
    }
}

/// The contenders that hold a lock, and those that wait for it.
pub(crate) fn divide(children: &[String]) -> (Vec<ContenderName<'_>>, Vec<ContenderName<'_>>) {
    let all = in_order(children);
    let holders = match all.first().map(|first| first.role) {
        Some(Role::Read) => all.iter().take_while(|one| one.role == Role::Read).count(),
        // After a downgrade that another client has half done, its read has the sequence of its write.
        Some(Role::Write | Role::MutexOrWrite) => {
            all.iter().take_while(|one| one.sequence == all[0].sequence).count()
        }
        Some(Role::Permit) => all.len(),
        Some(Role::Mutex) => 1,
        None => 0,
    };
    let waiters = all[holders..].to_vec();
    (all[..holders].to_vec(), waiters)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn children(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| format!("_c_u-{name}")).collect()
    }

    fn position(names: &[&str], own: &str) -> Position {
        position_of(&children(names), &format!("_c_u-{own}"))
    }

    fn behind(name: &str) -> Position {
        Position::Behind(format!("_c_u-{name}"))
    }

    #[test]
    fn a_mutex_goes_from_one_to_the_next() {
        let line = ["lock-0000000002", "lock-0000000001", "lock-0000000003"];
        assert_eq!(position(&line, "lock-0000000001"), Position::Holds);
        assert_eq!(position(&line, "lock-0000000003"), behind("lock-0000000002"));
        assert_eq!(position(&line, "lock-0000000009"), Position::Gone);
    }

    #[test]
    fn readers_wait_for_the_last_writer_before_them() {
        let line = [
            "__READ__0000000001",
            "__WRIT__0000000002",
            "__WRIT__0000000003",
            "__READ__0000000004",
        ];
        assert_eq!(position(&line, line[0]), Position::Holds);
        assert_eq!(position(&line, line[1]), behind(line[0]));
        assert_eq!(position(&line, line[2]), behind(line[1]));
        assert_eq!(position(&line, line[3]), behind(line[2]));
        let line = ["__READ__0000000001", "__READ__0000000002"];
        assert_eq!(position(&line, line[1]), Position::Holds);
    }

    #[test]
    fn kazoo_stands_in_the_same_line() {
        let line = ["lock-0000000001", "__lock__0000000002", "lock-0000000003"];
        assert_eq!(position(&line, line[2]), behind(line[1]));
        assert_eq!(position(&line[1..], line[2]), behind(line[1]));
        let line = [
            "__rlock__0000000001",
            "__READ__0000000002",
            "__lock__0000000003",
            "__rlock__0000000004",
            "__READ__0000000005",
            "__WRIT__0000000006",
        ];
        assert_eq!(position(&line, line[1]), Position::Holds);
        assert_eq!(position(&line, line[4]), behind(line[2]));
        assert_eq!(position(&line, line[5]), behind(line[4]));
        assert!(is_in_the_way(&children(&line[2..3]), Role::Read));
        assert!(!is_in_the_way(&children(&line[..2]), Role::Read));
        let all = children(&line);
        assert_eq!((divide(&all).0.len(), divide(&all[2..]).0.len()), (2, 1));
        let mixed = ["lock-0000000001", "__rlock__0000000000"];
        assert_eq!(position(&mixed, mixed[0]), Position::OtherRecipe);
        let semaphore = vec!["__lock__".to_owned(), "_c_u-lock-0000000001".to_owned()];
        assert_eq!(position_of(&semaphore, "_c_u-lock-0000000001"), Position::OtherRecipe);
    }

    #[test]
    fn recipes_on_one_path_refuse_each_other() {
        let line = ["lock-0000000001", "__WRIT__0000000002"];
        assert_eq!(position(&line, line[1]), Position::OtherRecipe);
        let semaphore = vec!["locks".to_owned(), "_c_u-lock-0000000001".to_owned()];
        assert_eq!(position_of(&semaphore, "_c_u-lock-0000000001"), Position::OtherRecipe);
        let nested = vec!["a-key-below".to_owned(), "_c_u-lock-0000000001".to_owned()];
        assert_eq!(position_of(&nested, "_c_u-lock-0000000001"), Position::Holds);
    }

    #[test]
    fn holders_and_waiters() {
        let count = |names: &[&str]| {
            let children = children(names);
            let (holders, waiters) = divide(&children);
            (holders.len(), waiters.len())
        };
        assert_eq!(count(&[]), (0, 0));
        assert_eq!(count(&["lock-0000000001", "lock-0000000002"]), (1, 1));
        let readers = [
            "__READ__0000000001",
            "__READ__0000000002",
            "__WRIT__0000000003",
            "__READ__0000000004",
        ];
        assert_eq!(count(&readers), (2, 2));
        assert_eq!(count(&["__WRIT__0000000001", "__READ__0000000002"]), (1, 1));
        assert_eq!(count(&["lease-0000000001", "lease-0000000002"]), (2, 0));
    }
}
