//! Re-entry: counts, order of release, ambient scopes, and tasks that do not inherit them.

use lock_core::{AcquireError, LockClient, Mode, Scope};

use super::store_under_test::{StoreUnderTest, soon};

pub(super) async fn counts_go_up_and_down(world: StoreUnderTest) {
    let (client, other) = (world.client().await, world.client().await);
    let counts = async |mode| {
        let count = client.hold_count("k", mode).await.unwrap();
        assert_eq!(client.is_held("k", mode).await.unwrap(), count > 0);
        count
    };
    client
        .scope()
        .run(async {
            for mode in [Mode::Write, Mode::Read] {
                assert_eq!(counts(mode).await, 0);
                let first = client.lock(mode, "k").acquire().await.unwrap();
                assert_eq!(counts(mode).await, 1);
                let second = client.lock(mode, "k").acquire().await.unwrap();
                assert_eq!(counts(mode).await, 2);
                drop(second);
                assert_eq!(counts(mode).await, 1);
                assert!(other.is_locked("k", mode).await.unwrap());
                assert!(!other.is_held("k", mode).await.unwrap(), "not in that scope");
                first.release().await.unwrap();
                assert_eq!(counts(mode).await, 0);
                assert!(!other.is_locked("k", mode).await.unwrap());
            }
        })
        .await;
}

pub(super) async fn inner_guards_may_outlive_outer_ones(world: StoreUnderTest) {
    let (client, other) = (world.client().await, world.client().await);
    let scope = client.scope();
    let mut guards = Vec::new();
    for _ in 0..5 {
        guards.push(scope.write("k").acquire().await.unwrap());
    }
    while guards.len() > 1 {
        guards.remove(0).release().await.unwrap();
        assert!(other.read("k").try_acquire().await.is_err());
    }
    guards.remove(0).release().await.unwrap();
    drop(other.write("k").try_acquire().await.unwrap());
}

pub(super) async fn a_locked_function_calls_a_locked_function(world: StoreUnderTest) {
    async fn outer(client: &LockClient) -> Result<u32, AcquireError> {
        let _guard = client.write("k").acquire().await?;
        Ok(inner(client).await? + 1)
    }
    async fn inner(client: &LockClient) -> Result<u32, AcquireError> {
        let _guard = client.write("k").acquire().await?;
        client.hold_count("k", Mode::Write).await.map_err(|error| panic!("{error}"))
    }
    let client = world.client().await;
    assert_eq!(soon(client.scope().run(outer(&client))).await.unwrap(), 3);
    // Without a scope the two exclude each other.
    assert!(matches!(outer(&client).await, Err(AcquireError::Busy(_))));
    // `run` opens a scope where there is none.
    let counted = client.write("k").run(inner(&client)).await.unwrap().unwrap();
    assert_eq!(counted, 2);
}

pub(super) async fn joined_acquisitions_of_one_scope_both_enter(world: StoreUnderTest) {
    let client = world.client().await;
    let scope = client.scope();
    let (one, two) =
        soon(async { tokio::join!(scope.write("k").acquire(), scope.write("k").acquire()) }).await;
    let (one, two) = (one.unwrap(), two.unwrap());
    assert_eq!(one.fencing_token(), two.fencing_token());
    one.release().await.unwrap();
    two.release().await.unwrap();
}

pub(super) async fn a_spawned_task_is_not_in_the_scope(world: StoreUnderTest) {
    let client = world.client().await;
    client
        .scope()
        .run(async {
            let _guard = client.write("k").acquire().await.unwrap();
            assert!(Scope::current().is_some());
            let spawned = client.clone();
            let entered = tokio::spawn(async move {
                assert!(Scope::current().is_none());
                spawned.write("k").try_acquire().await.is_ok()
            });
            assert!(!entered.await.unwrap());
        })
        .await;
    assert!(Scope::current().is_none());
}

pub(super) async fn a_scope_may_lock_again_after_release(world: StoreUnderTest) {
    let client = world.client().await;
    let scope = client.scope();
    let mut last = None;
    for _ in 0..20 {
        let guard = scope.write("k").try_acquire().await.unwrap();
        assert!(last < Some(guard.fencing_token()), "a new hold, a new token");
        last = Some(guard.fencing_token());
    }
    let read = scope.read("k").try_acquire().await.unwrap();
    drop(read);
    drop(scope.write("k").try_acquire().await.unwrap());
}

pub(super) async fn one_scope_many_keys_and_clients(world: StoreUnderTest) {
    let (here, there) = (world.client().await, world.client().await);
    here.scope()
        .run(async {
            let _one = here.write("one").acquire().await.unwrap();
            let _two = here.write("two").acquire().await.unwrap();
            // Another client is another process, whatever scope is ambient.
            assert!(there.write("one").try_acquire().await.is_err());
            let _three = there.write("three").acquire().await.unwrap();
            let _again = there.write("three").acquire().await.unwrap();
            assert!(here.write("three").try_acquire().await.is_err());
        })
        .await;
}
