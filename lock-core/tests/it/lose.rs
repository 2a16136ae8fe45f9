//! What the test kit and `assert_held!` rely on: losing any key, and the holder of each key.

use std::time::Duration;

use lock_core::{
    __private::held, Kind, LockClient, LockKey, LostCause, MemoryStore, Mode, test_util::lose,
};
use tokio::time::Instant;

fn key(key: &str) -> LockKey {
    LockKey::try_from(key).unwrap()
}

#[tokio::test(start_paused = true)]
async fn every_hold_of_this_client_on_this_key_is_lost_at_once() {
    let store = MemoryStore::new();
    let client = || LockClient::builder().in_memory_on(&store);
    let (here, there) = (client(), client());
    assert_eq!(lose(&here, &key("k")), 0);
    let read = |client: &LockClient| client.read("k").acquire();
    let (one, two) = (read(&here).await.unwrap(), read(&here).await.unwrap());
    let other = there.read("k").acquire().await.unwrap();
    let beside = here.write("beside").acquire().await.unwrap();
    let started = Instant::now();
    assert_eq!(lose(&here, &key("k")), 2);
    assert_eq!(lose(&here, &key("k")), 0, "once");
    assert_eq!(one.lost().await.cause(), LostCause::Refused);
    assert_eq!(two.lost().await.cause(), LostCause::Refused);
    assert!(!one.is_held() && other.is_held() && beside.is_held());
    let mut other = other;
    while other.upgrade().await.is_err() {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    assert!(started.elapsed() < Duration::from_secs(1), "the store has let go of them too");
    assert!(one.release().await.is_err());
}

#[tokio::test(start_paused = true)]
async fn renewed_holds_reentered_ones_and_permits_too() {
    let client = LockClient::in_memory();
    let scope = client.scope();
    let (outer, inner) = (scope.write("k"), scope.write("k"));
    let (outer, inner) = (outer.acquire().await.unwrap(), inner.acquire().await.unwrap());
    let permit = client.semaphore("s", 1).permit().acquire().await.unwrap();
    tokio::time::sleep(Duration::from_secs(100)).await;
    assert_eq!(lose(&client, &key("k")), 1, "one hold with two guards");
    assert_eq!(lose(&client, &key("s")), 1);
    assert!(!outer.is_held() && !inner.is_held() && !permit.is_held());
    client.write("k").acquire().await.unwrap().release().await.unwrap();
    client.semaphore("s", 1).permit().acquire().await.unwrap().release().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_scope_knows_what_it_holds() {
    let (client, other) = (LockClient::in_memory(), LockClient::in_memory());
    let both = |key: &str| (held(key, Mode::Read), held(key, Mode::Write));
    let _outside = client.write("out").acquire().await.unwrap();
    assert_eq!(both("out"), (false, false), "no scope");
    let scope = client.scope();
    let work = async {
        assert_eq!(both("out"), (false, false), "not the scope's");
        let mut guard = client.write("k").acquire().await.unwrap();
        let read = other.read("r").acquire().await.unwrap();
        let fair = client.fair("f").acquire().await.unwrap();
        assert_eq!((both("k"), both("f")), ((true, true), (true, true)));
        assert_eq!(both("r"), (true, false), "of another client, for reading");
        let elsewhere = tokio::spawn(async { held("k", Mode::Read) });
        assert!(!elsewhere.await.unwrap(), "a spawned task is not in the scope");
        guard.downgrade().await.unwrap();
        assert_eq!(both("k"), (true, false));
        drop(read);
        assert_eq!(both("r"), (false, false), "released");
        assert_eq!(lose(&client, &key("k")), 1);
        assert_eq!(both("k"), (false, false), "lost");
        let brief = client.write("b").kind(Kind::ReadWrite).renew(false);
        let _brief = brief.lease(Duration::from_secs(1)).acquire().await.unwrap();
        assert!(held("b", Mode::Write));
        tokio::time::advance(Duration::from_secs(1)).await;
        assert!(!held("b", Mode::Write), "its time is over");
        drop(fair);
    };
    scope.run(work).await;
}
