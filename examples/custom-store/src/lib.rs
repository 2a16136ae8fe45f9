//! A custom lock store: exclusive locks in a table behind a mutex. A real one has a database there;
//! the rules are the same. Methods that it does not implement are refused as unsupported.

use std::{
    collections::HashMap,
    future::ready,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use futures_util::future::BoxFuture;
use lock_tower::{
    FencingToken, Kind, LockKey, Mode,
    store::{
        AcquireCommand, Acquired, Holder, LockStore, OwnerId, ReleaseCommand, Released,
        RenewCommand, Renewal, StoreFuture, StoreHealth, Unsupported, WakeTopic, WakeupReceiver,
        WakeupSender,
    },
};
use tokio::time::Instant;

/// Exclusive locks: reentrant, non-reentrant and fenced ones.
#[derive(Debug, Default)]
pub struct TableStore(Mutex<Table>);

#[derive(Debug, Default)]
struct Table {
    rows: HashMap<LockKey, Row>,
    waiting: HashMap<LockKey, WakeupSender>,
    /// A restarted store must not start again from zero: keep this with the locks.
    last_token: u64,
}

#[derive(Debug)]
struct Row {
    owner: OwnerId,
    holds: u32,
    until: Instant,
}

impl TableStore {
    /// Deletes a lock, as an operator would: its holder learns of it at its next renewal.
    pub fn delete(&self, key: &LockKey) {
        self.table().free(key);
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Table {
    /// The row of a key whose lease has not ended.
    fn row(&mut self, key: &LockKey) -> Option<&mut Row> {
        if self.rows.get(key)?.until <= Instant::now() {
            self.rows.remove(key);
        }
        self.rows.get_mut(key)
    }

    /// The row, if this owner holds it.
    fn own(&mut self, holder: &Holder) -> Option<&mut Row> {
        self.row(&holder.key).filter(|row| row.owner == holder.owner)
    }

    fn acquire(&mut self, command: AcquireCommand) -> Acquired {
        let now = Instant::now();
        let AcquireCommand { key, owner, holds, lease, .. } = command;
        let (outermost, until) = (holds == 1, now + lease);
        match self.row(&key) {
            // A re-entry, or a command that was executed before and is repeated.
            Some(row) if row.owner == owner && row.holds + 1 >= holds => {
                row.holds = row.holds.max(holds);
                row.until = row.until.max(until);
            }
            Some(row) if outermost => {
                let remaining = Some(row.until - now);
                return Acquired::Busy { remaining, in_line: false };
            }
            None if outermost => drop(self.rows.insert(key, Row { owner, holds, until })),
            Some(_) | None => return Acquired::Lost,
        }
        Acquired::Granted(outermost.then(|| self.token()))
    }

    fn token(&mut self) -> FencingToken {
        self.last_token += 1;
        FencingToken::new(self.last_token)
    }

    fn release(&mut self, command: &ReleaseCommand) -> Released {
        match self.own(&command.holder) {
            None => Released::Gone,
            Some(row) if row.holds < command.holds => Released::Gone,
            Some(row) if command.holds > 0 => {
                row.holds = command.holds;
                Released::StillHeld
            }
            Some(_) => {
                self.free(&command.holder.key);
                Released::Freed
            }
        }
    }

    fn renew(&mut self, command: &RenewCommand) -> Renewal {
        let Some(row) = self.own(&command.holder) else { return Renewal::Lost };
        let until = Instant::now() + command.lease;
        row.until = if command.exactly { until } else { row.until.max(until) };
        Renewal::Renewed
    }

    /// Which waiter is next is left to chance: a kind that is not fair may do that.
    fn free(&mut self, key: &LockKey) {
        self.rows.remove(key);
        self.waiting.retain(|_, wakeups| wakeups.has_receivers());
        if let Some(wakeups) = self.waiting.get(key) {
            wakeups.wake();
        }
    }
}

impl LockStore for TableStore {
    fn acquire(&self, command: AcquireCommand) -> StoreFuture<'_, Acquired> {
        Box::pin(ready(match command.kind {
            Kind::Reentrant | Kind::NonReentrant | Kind::Fenced => {
                Ok(self.table().acquire(command))
            }
            kind => Err(Unsupported::new(format!("{kind} locks")).into()),
        }))
    }

    fn release(&self, command: ReleaseCommand) -> StoreFuture<'_, Released> {
        Box::pin(ready(Ok(self.table().release(&command))))
    }

    fn renew(&self, _mode: Mode, commands: Vec<RenewCommand>) -> StoreFuture<'_, Vec<Renewal>> {
        let mut table = self.table();
        let renewed = commands.iter().map(|command| table.renew(command)).collect();
        Box::pin(ready(Ok(renewed)))
    }

    fn health(&self) -> BoxFuture<'_, StoreHealth> {
        Box::pin(ready(StoreHealth::new("table", Ok(Duration::ZERO))))
    }

    fn wakeups(&self, topic: WakeTopic) -> WakeupReceiver {
        match topic {
            WakeTopic::Turn(waiter) => {
                self.table().waiting.entry(waiter.key).or_default().subscribe()
            }
            _ => WakeupReceiver::never(),
        }
    }
}
