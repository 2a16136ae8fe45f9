//! The reported state of a lock: whether it is locked, its holder, its holds, its mode.

use lock_core::{Kind, LockClient, Mode, Scope};

use super::store_under_test::{StoreUnderTest, written};

async fn counted(scope: &Scope, client: &LockClient) -> u32 {
    let count = scope.run(client.hold_count("k", Mode::Write)).await.unwrap();
    assert_eq!(scope.run(client.is_held("k", Mode::Write)).await.unwrap(), count > 0);
    count
}

pub(super) async fn holds_are_counted_for_every_kind(world: StoreUnderTest) {
    let (here, there) = (world.client().await, world.client().await);
    for kind in world.locks() {
        let (scope, stranger) = (here.scope(), here.scope());
        let most = if kind == Kind::NonReentrant { 1 } else { 2 };
        let says = async |count: u32| {
            assert_eq!(counted(&scope, &here).await, count, "{kind}");
            for client in [&here, &there] {
                assert_eq!(client.is_locked("k", Mode::Write).await.unwrap(), count > 0, "{kind}");
                assert_eq!(counted(&stranger, client).await, 0, "{kind}: another scope has none");
            }
        };
        says(0).await;
        let mut guards = Vec::new();
        for count in 1..=most {
            guards.push(written(&here, kind, "k").in_scope(&scope).acquire().await.unwrap());
            says(count).await;
        }
        for left in (0..most).rev() {
            guards.remove(0).release().await.unwrap();
            says(left).await;
        }
        // A fenced lock's tokens stay, and would show the next plain one as fenced.
        world.forget("k").await;
    }
}

const SIDES: [Kind; 2] = [Kind::ReadWrite, Kind::FairReadWrite];

pub(super) async fn each_client_reports_whether_it_is_locked(world: StoreUnderTest) {
    let (here, there) = (world.client().await, world.client().await);
    let says = async |read: bool, write: bool| {
        for client in [&here, &there] {
            assert_eq!(client.is_locked("k", Mode::Read).await.unwrap(), read);
            assert_eq!(client.is_locked("k", Mode::Write).await.unwrap(), write);
        }
    };
    for kind in SIDES {
        let scope = here.scope();
        let take = |mode| here.lock(mode, "k").kind(kind).in_scope(&scope).acquire();
        says(false, false).await;
        let write = take(Mode::Write).await.unwrap();
        says(false, true).await;
        let read = take(Mode::Read).await.unwrap();
        says(true, true).await;
        read.release().await.unwrap();
        says(false, true).await;
        let read = take(Mode::Read).await.unwrap();
        write.release().await.unwrap();
        says(true, false).await;
        read.release().await.unwrap();
        says(false, false).await;
    }
}

pub(super) async fn a_read_given_back_inside_a_write_leaves_the_write(world: StoreUnderTest) {
    let (here, there) = (world.client().await, world.client().await);
    for kind in SIDES {
        let scope = here.scope();
        let take = |mode| here.lock(mode, "k").kind(kind).in_scope(&scope).acquire();
        let write = take(Mode::Write).await.unwrap();
        take(Mode::Read).await.unwrap().release().await.unwrap();
        assert!(write.is_held());
        for mode in [Mode::Read, Mode::Write] {
            for client in [&here, &there] {
                let entered = client.lock(mode, "k").kind(kind).try_acquire().await;
                assert!(entered.is_err(), "{kind}: {mode}");
            }
        }
        write.release().await.unwrap();
        written(&there, kind, "k").try_acquire().await.unwrap().release().await.unwrap();
    }
}
