//! Waiters, their places, and a lock with one of them.

use crate::scripts::plain::call as plain_call;
use crate::scripts::semaphore::call::permit;
use crate::scripts::support::call::{
    Call, LEASE, acquire_read, acquire_write, release_read, release_write,
};
use crate::scripts::support::keys::{CHANNEL, LINE, LOCK_CHANNEL, lock, read, waiters};
use crate::scripts::support::store::{STOPPED_MS, Store};

/// What a reserved place has.
pub(crate) const RESERVED_MS: i64 = 50;

/// A sort of waiter, and what is in its way.
#[derive(Clone, Copy)]
pub(crate) struct Waiter {
    pub(crate) mode: &'static str,
    pub(crate) acquire: fn(&str, u32) -> Call,
    pub(crate) release: fn(&str, u32) -> Call,
    /// Of the holder `a:1`.
    pub(crate) hold: fn(&str, u32) -> Call,
    pub(crate) give_back: fn(&str, u32) -> Call,
    pub(crate) held: &'static str,
    /// The channel of that, and the message.
    pub(crate) channel: &'static str,
    pub(crate) message: &'static str,
}

/// Of a read/write lock.
pub(crate) const WAITERS: [Waiter; 2] = [
    Waiter {
        mode: "read",
        acquire: acquire_read,
        release: release_read,
        hold: acquire_write,
        give_back: release_write,
        held: "a:1:write=1 mode=write",
        channel: CHANNEL,
        message: "1",
    },
    Waiter {
        mode: "write",
        acquire: acquire_write,
        release: release_write,
        hold: acquire_write,
        give_back: release_write,
        held: "a:1:write=1 mode=write",
        channel: CHANNEL,
        message: "1",
    },
];

/// Of a lock with one holder too.
pub(crate) const ALL_WAITERS: [Waiter; 3] = [
    WAITERS[0],
    WAITERS[1],
    Waiter {
        mode: "write",
        acquire: plain_call::acquire,
        release: plain_call::release,
        hold: plain_call::acquire,
        give_back: plain_call::release,
        held: "a:1=1",
        channel: LOCK_CHANNEL,
        message: "0",
    },
];

impl Waiter {
    /// `mode:owner`
    pub(crate) fn name_of(self, owner: &str) -> String {
        format!("{}:{owner}", self.mode)
    }

    /// The acquisition of an owner that has waited for this long.
    pub(crate) fn after(self, owner: &str, waited_ms: i64) -> Call {
        (self.acquire)(owner, 1).with("waited_ms", waited_ms)
    }

    pub(crate) fn leave(self, owner: &str) -> Call {
        (self.release)(owner, 0).with("queued", 1)
    }

    /// The messages that wake these waiters, each alone.
    pub(crate) fn wakes(self, owners: &[&str]) -> Vec<(String, String)> {
        owners.iter().map(|owner| (self.channel.to_owned(), woken(owner, self.message))).collect()
    }

    /// The message for all that listen.
    pub(crate) fn wakes_all(self) -> Vec<(String, String)> {
        vec![(self.channel.to_owned(), self.message.to_owned())]
    }
}

/// The message for the waiter of this name alone.
pub(crate) fn woken(name: &str, message: &str) -> String {
    let name = name.as_bytes();
    let ([first, ..], [.., tens, ones]) = (name, name) else { panic!("{name:?}") };
    let number = (usize::from(*first) + 10 * usize::from(*tens) + usize::from(*ones)) % 32;
    format!("{}{message}", "0".repeat(number + 1))
}

pub(crate) fn woken_permit(number: u32, message: &str) -> String {
    woken(&permit(number), message)
}

/// A permit's hexadecimal digits.
pub(crate) fn hex(number: u32) -> String {
    permit(number).bytes().map(|byte| format!("{byte:02x}")).collect()
}

/// Puts places in line: `mode:owner`, since when and until when, from the stopped clock on.
pub(crate) async fn stand(store: &Store, places: &[(&str, i64, i64)]) {
    for (name, since, until) in places {
        let times = format!("{}:{}", STOPPED_MS + since, STOPPED_MS + until);
        store.set(&["HSET", LINE, name, &times]).await;
    }
    store.set(&["PEXPIRE", LINE, "300000"]).await;
}

/// Every place by name, as `mode:owner since..until`, from the stopped clock on.
pub(crate) async fn places(store: &Store) -> Vec<String> {
    let fields = store.cli.hash(LINE).await.into_iter();
    let ms = |text: &str| text.parse::<i64>().unwrap() - STOPPED_MS;
    fields
        .map(|(name, times)| {
            let (since, until) = times.split_once(':').unwrap();
            format!("{name} {}..{}", ms(since), ms(until))
        })
        .collect()
}

/// `a:1` reads, `b:2` waits to write.
pub(crate) async fn waiting_writer() -> Store {
    let store = Store::start().await;
    store.granted(&acquire_read("a:1", 1)).await;
    assert_eq!(store.refused(&acquire_write("b:2", 1), "BUSY", LEASE).await, ["1"]);
    let line = waiters("write:b:2");
    store.stands([lock("a:1=1 mode=read", LEASE), read("a:1", 1, LEASE), line]).await;
    store
}

/// `a:1` holds, `b:2` waits behind it.
pub(crate) async fn waiting(waiter: Waiter) -> Store {
    let store = Store::start().await;
    store.granted(&(waiter.hold)("a:1", 1)).await;
    assert_eq!(store.refused(&(waiter.acquire)("b:2", 1), "BUSY", LEASE).await, ["1"]);
    store.stands([lock(waiter.held, LEASE), waiters(&waiter.name_of("b:2"))]).await;
    store
}

/// `a:1` holds, and the scripts' clock stands.
pub(crate) async fn held(waiter: Waiter) -> Store {
    let store = Store::start().await;
    store.stop_clock();
    store.granted(&(waiter.hold)("a:1", 1)).await;
    store
}
