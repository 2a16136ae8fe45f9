//! Contenders as operators see them.

use std::time::{Duration, SystemTime};

use lock_store::{ClientInfo, HolderSnapshot, Holds, Kind, LockSnapshot, Mode, WaiterSnapshot};

use super::{names::Role, tokens::token_of};

/// One znode, described.
pub(super) struct Described {
    pub(super) owner: String,
    kind: Option<Kind>,
    client: Option<ClientInfo>,
    age: Option<Duration>,
    work: Option<String>,
    pub(super) czxid: i64,
}

impl Described {
    /// Ours contains `<service> <instance> <kind> <owner>`, and after a while its work; Curator's
    /// contains an address, or a text of its user.
    pub(super) fn of(name: &str, data: &[u8], ctime: i64, czxid: i64) -> Self {
        let text = String::from_utf8_lossy(data);
        let words: Vec<_> = text.splitn(5, ' ').collect();
        let ctime = Duration::from_millis(u64::try_from(ctime).unwrap_or_default());
        let age = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH + ctime).ok();
        let (owner, kind, client, work) = match words.as_slice() {
            [service, instance, kind, owner, work @ ..] if kind.parse::<Kind>().is_ok() => {
                let client = ClientInfo::new(*service, *instance);
                let work = work.first().map(|work| (*work).to_owned());
                ((*owner).to_owned(), kind.parse().ok(), Some(client), work)
            }
            [""] => (name.to_owned(), None, None, None),
            _ => (format!("{name} ({text})"), None, None, None),
        };
        Self { owner, kind, client, age, work, czxid }
    }
}

pub(super) fn snapshot(
    holders: Vec<(Role, Described)>,
    waiters: Vec<(Role, Described)>,
    complete: bool,
) -> LockSnapshot {
    let first = holders.first().or(waiters.first());
    let role = first.map(|(role, _)| *role);
    let newest_token = holders.iter().map(|(_, one)| one.czxid).max().map(token_of);
    let by_role = |role| match role {
        Role::Mutex | Role::MutexOrWrite => Kind::Reentrant,
        Role::Read | Role::Write => Kind::ReadWrite,
        Role::Permit => Kind::Semaphore,
    };
    let mut snapshot = LockSnapshot::default();
    snapshot.kind = first.map(|(role, one)| one.kind.unwrap_or_else(|| by_role(*role)));
    snapshot.mode = holders.first().map(|(role, _)| mode_of(*role));
    snapshot.token = newest_token.filter(|_| role != Some(Role::Permit));
    snapshot.holders = holders.into_iter().map(holder).collect();
    snapshot.waiters = waiters.into_iter().map(waiter).collect();
    snapshot.complete = complete;
    snapshot
}

pub(super) fn holder((role, one): (Role, Described)) -> HolderSnapshot {
    let mut holder = HolderSnapshot::new(one.owner, holds_of(role), None);
    (holder.client, holder.age, holder.work) = (one.client, one.age, one.work);
    holder
}

pub(super) fn waiter((role, one): (Role, Described)) -> WaiterSnapshot {
    let mut waiter = WaiterSnapshot::new(one.owner, mode_of(role));
    (waiter.client, waiter.age, waiter.work) = (one.client, one.age, one.work);
    waiter
}

pub(super) fn mode_of(role: Role) -> Mode {
    if role == Role::Read { Mode::Read } else { Mode::Write }
}

pub(super) fn holds_of(role: Role) -> Holds {
    let mut holds = Holds::default();
    *holds.of_mut(mode_of(role)) = 1;
    holds
}
