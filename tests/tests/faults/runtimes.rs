//! One client, several runtimes: what one of them started does not end with it.

use std::time::Duration;

use lock_core::LeaseState;
use lock_tests::{LIMIT, RedisServer, eventually};
use tokio::runtime::{Builder, Runtime};

use crate::{client_at, lock_keys, nothing_stays};

fn runtime() -> Runtime {
    Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap()
}

#[test]
fn holds_outlive_the_runtime_that_made_the_client() {
    let (first, second) = (runtime(), runtime());
    let server = second.block_on(RedisServer::start());
    let client = first.block_on(client_at(&server.url()));
    let lease = Duration::from_secs(2);
    let one = first.block_on(client.write("one").lease(lease).acquire()).unwrap();
    let two = second.block_on(client.write("two").lease(lease).acquire()).unwrap();
    drop(first);
    second.block_on(async {
        for guard in [&one, &two] {
            eventually("renewed elsewhere", LIMIT, async || guard.state() == LeaseState::Renewed)
                .await;
        }
        tokio::time::sleep(lease).await;
        assert!(one.is_held() && two.is_held());
        client.write("three").acquire().await.unwrap().release().await.unwrap();
        drop((one, two));
        nothing_stays(&server, &[&client]).await;
    });
}

#[test]
fn a_client_waits_for_its_next_runtime() {
    let keeper = runtime();
    let server = keeper.block_on(RedisServer::start());
    let first = runtime();
    let client = first.block_on(client_at(&server.url()));
    let guard = first.block_on(client.write("k").acquire()).unwrap();
    drop(first);
    drop(guard);
    // Nobody is there to release it, until the client is used again.
    let second = runtime();
    second.block_on(async {
        client.write("k").wait(LIMIT).acquire().await.unwrap().release().await.unwrap();
        client.shutdown(LIMIT).await.unwrap();
    });
    keeper.block_on(async { assert_eq!(lock_keys(&server).await, [""; 0]) });
}
