//! Those who wait, and a lock with one of them.

use crate::call::{Call, LEASE, acquire_read, acquire_write, release_read, release_write};
use crate::keys::{lock, mark, read};
use crate::store::Store;

/// A sort of waiter.
#[derive(Clone, Copy)]
pub(crate) struct Waiter {
    pub(crate) mode: &'static str,
    pub(crate) acquire: fn(&str, u32) -> Call,
    pub(crate) release: fn(&str, u32) -> Call,
}

pub(crate) const WAITERS: [Waiter; 2] = [
    Waiter { mode: "read", acquire: acquire_read, release: release_read },
    Waiter { mode: "write", acquire: acquire_write, release: release_write },
];

impl Waiter {
    /// `mode:owner`
    pub(crate) fn who(self, owner: &str) -> String {
        format!("{}:{owner}", self.mode)
    }

    /// Asks, having waited for this long.
    pub(crate) fn after(self, owner: &str, waited_ms: i64) -> Call {
        (self.acquire)(owner, 1).with("waited_ms", waited_ms)
    }
}

/// `a:1` reads, `b:2` waits to write.
pub(crate) async fn waiting_writer() -> Store {
    let store = Store::start().await;
    store.granted(&acquire_read("a:1", 1)).await;
    assert_eq!(store.refused(&acquire_write("b:2", 1), "BUSY", LEASE).await, ["1"]);
    store.stands([lock("a:1=1 mode=read", LEASE), read("a:1", 1, LEASE), mark("write:b:2")]).await;
    store
}

/// `a:1` writes, `b:2` waits behind it.
pub(crate) async fn waiting(waiter: Waiter) -> Store {
    let store = Store::start().await;
    store.granted(&acquire_write("a:1", 1)).await;
    let call = (waiter.acquire)("b:2", 1);
    assert_eq!(store.refused(&call, "BUSY", LEASE).await, ["1"]);
    let written = lock("a:1:write=1 mode=write", LEASE);
    store.stands([written, mark(&waiter.who("b:2"))]).await;
    store
}
