//! One lock, held by ours and by Redisson's.

use crate::scripts::support::call::{
    LEASE, LONGER, PLACE_MS, acquire_read, acquire_write, downgrade, release_read, release_write,
    renew_read,
};
use crate::scripts::support::keys::{lock, read, waiters, with, within};
use crate::scripts::support::redisson::Java;
use crate::scripts::support::store::Store;

#[tokio::test]
async fn a_java_reader_that_unlocks_leaves_ours_its_lease() {
    let mut store = Store::start().await;
    assert_eq!(Java::Read.ask_with(&store, "j:1", LONGER).await, None);
    store.granted(&acquire_read("a:1", 1)).await;
    assert_eq!(store.ask(&acquire_read("a:1", 2)).await, ["GRANTED", ""]);
    assert_eq!(Java::UnlockRead.ask(&store, "j:1").await, Some(0));
    let holds = [1, 2].map(|hold| read("a:1", hold, LEASE));
    store.stands(with(lock("a:1=2 mode=read", LEASE), holds)).await;
    assert!(store.reported().await.is_empty());
}

#[tokio::test]
async fn ours_that_releases_leaves_a_java_reader_its_lease() {
    let mut store = Store::start().await;
    store.granted(&acquire_read("a:1", 1).with("lease", LONGER)).await;
    assert_eq!(Java::Read.ask(&store, "j:1").await, None);
    assert_eq!(Java::Read.ask(&store, "j:1").await, None);
    assert_eq!(store.ask(&release_read("a:1", 0)).await, ["RELEASED"]);
    let holds = [1, 2].map(|hold| read("j:1", hold, LEASE));
    store.stands(with(lock("j:1=2 mode=read", LEASE), holds)).await;
    assert!(store.reported().await.is_empty());
}

#[tokio::test]
async fn a_java_writer_waits_for_ours_and_is_woken() {
    let mut store = Store::start().await;
    for (acquire, release, message) in [
        (acquire_read("a:1", 1), release_read("a:1", 0), "0"),
        (acquire_write("a:1", 1), release_write("a:1", 0), "1"),
    ] {
        store.granted(&acquire).await;
        assert!(within(Java::Write.ask(&store, "j:1").await.unwrap(), LEASE));
        assert_eq!(store.ask(&release).await, ["FREED"]);
        assert_eq!(store.reported().await, [message]);
        assert_eq!(Java::Write.ask(&store, "j:1").await, None);
        assert_eq!(Java::UnlockWrite.ask(&store, "j:1").await, Some(1));
        assert_eq!(store.reported().await, ["1"]);
    }
}

#[tokio::test]
async fn java_readers_are_woken_by_our_downgrade() {
    let mut store = Store::start().await;
    store.granted(&acquire_write("a:1", 1)).await;
    assert!(within(Java::Read.ask(&store, "j:1").await.unwrap(), LEASE));
    assert_eq!(store.ask(&downgrade("a:1", 1, 0)).await, ["RELEASED"]);
    assert_eq!(store.reported().await, ["1"]);
    assert_eq!(Java::Read.ask(&store, "j:1").await, None);
    assert_eq!(Java::UnlockRead.ask(&store, "j:1").await, Some(0));
    store.stands([lock("a:1=1 mode=read", LEASE), read("a:1", 1, LEASE)]).await;
}

#[tokio::test]
async fn ours_waits_for_java() {
    let store = Store::start().await;
    assert_eq!(Java::Write.ask(&store, "j:1").await, None);
    assert_eq!(store.refused(&acquire_read("b:2", 1), "BUSY", LEASE).await, ["1"]);
    let older = acquire_write("a:1", 1).with("waited_ms", LONGER);
    assert_eq!(store.refused(&older, "BUSY", LEASE).await, ["1"]);
    assert_eq!(Java::UnlockWrite.ask(&store, "j:1").await, Some(1));

    assert_eq!(Java::Read.ask(&store, "j:1").await, None);
    assert_eq!(store.refused(&acquire_write("a:1", 1), "BUSY", LEASE).await, ["1"]);
    // Java does not see the waiters; ours does.
    assert_eq!(store.refused(&acquire_read("b:2", 1), "YIELD", PLACE_MS).await, ["1"]);
    assert_eq!(Java::Read.ask(&store, "j:2").await, None);
    let readers = [read("j:1", 1, LEASE), read("j:2", 1, LEASE), waiters("read:b:2 write:a:1")];
    store.stands(with(lock("j:1=1 j:2=1 mode=read", LEASE), readers)).await;
    for java in ["j:1", "j:2"] {
        assert!(Java::UnlockRead.ask(&store, java).await.is_some());
    }
    store.granted(&acquire_write("a:1", 1)).await;
}

#[tokio::test]
async fn a_java_reader_that_died_is_forgotten() {
    let store = Store::start().await;
    assert_eq!(Java::Read.ask(&store, "j:1").await, None);
    store.granted(&acquire_read("a:1", 1)).await;
    store.lapse("j:1", 1).await;
    assert_eq!(store.ask(&release_read("a:1", 0)).await, ["FREED"]);
    store.granted(&acquire_write("b:2", 1)).await;
    store.stands([lock("b:2:write=1 mode=write", LEASE)]).await;
}

/// Redisson's watchdog sets the shared hash to its own timeout, whatever other leases are: the next
/// renewal corrects that, so ours must run before Java's timeout is over.
#[tokio::test]
async fn a_java_watchdog_cuts_the_lock_until_ours_is_renewed() {
    let store = Store::start().await;
    store.granted(&acquire_read("a:1", 1).with("lease", LONGER)).await;
    assert_eq!(Java::Read.ask(&store, "j:1").await, None);
    assert_eq!(Java::WatchRead.ask(&store, "j:1").await, Some(1));
    let readers = || [read("a:1", 1, LONGER), read("j:1", 1, LEASE)];
    store.stands(with(lock("a:1=1 j:1=1 mode=read", LEASE), readers())).await;
    let renew = renew_read("a:1").with("lease", LONGER);
    assert_eq!(store.ask(&renew).await, ["RENEWED", "1"]);
    store.stands(with(lock("a:1=1 j:1=1 mode=read", LONGER), readers())).await;
}

#[tokio::test]
async fn ours_re_entered_under_a_java_watchdog_keeps_all_its_holds() {
    let store = Store::start().await;
    store.granted(&acquire_read("a:1", 1).with("lease", LONGER)).await;
    assert_eq!(Java::Read.ask(&store, "j:1").await, None);
    assert_eq!(Java::WatchRead.ask(&store, "j:1").await, Some(1));
    assert_eq!(store.ask(&acquire_read("a:1", 2)).await, ["GRANTED", ""]);
    assert_eq!(Java::WatchRead.ask(&store, "j:1").await, Some(1));
    assert_eq!(Java::UnlockRead.ask(&store, "j:1").await, Some(0));
    let holds = [1, 2].map(|hold| read("a:1", hold, LONGER));
    store.stands(with(lock("a:1=2 mode=read", LONGER), holds)).await;
}
