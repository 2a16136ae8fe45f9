//! Beside Python's real libraries that take a lock by `SET NX`: redis-py, Pottery, python-redis-lock.

use std::time::Duration;

use lock_core::{AcquireError, LockClient};
use lock_tests::{Cli, LIMIT, PythonProgram, RedisServer, eventually};

use crate::interop::peer::Peer;

/// Each library, with the prefix of its keys. That of redis-py is chosen here.
const LIBRARIES: [(&str, &str); 3] =
    [("redis-py", "lock:"), ("pottery", "redlock:"), (REDIS_LOCK, "lock:")];

const REDIS_LOCK: &str = "python-redis-lock";
const SIGNAL: &str = "lock-signal:k";

struct World {
    server: RedisServer,
    cli: Cli,
    python: Peer,
}

impl World {
    async fn start() -> Self {
        let server = RedisServer::start().await;
        let python = Peer::python(PythonProgram::SetNx, &[("REDIS_URL", server.url())]).await;
        Self { cli: server.cli().await, server, python }
    }

    async fn ours(&self, prefix: &str) -> LockClient {
        let builder = LockClient::builder().prefix(prefix).beside_set_nx();
        builder.connect(&self.server.url()).await.unwrap()
    }

    async fn waits_for_signal(&self) -> bool {
        let clients = self.cli.client_list().await;
        clients.iter().any(|client| client.field("cmd") == "blpop")
    }
}

#[tokio::test]
async fn each_excludes_the_other() {
    let world = World::start().await;
    let python = &world.python;
    for (library, prefix) in LIBRARIES {
        let client = world.ours(prefix).await;
        python.must("held", "a", format!("acquire {library} k")).await;
        let lock = || client.write("k");
        let refused = lock().try_acquire().await.unwrap_err();
        assert!(matches!(refused, AcquireError::Busy(_)), "{library}: {refused}");
        let refused = lock().wait(Duration::from_millis(150)).acquire().await.unwrap_err();
        assert!(matches!(refused, AcquireError::Busy(_)), "{library}: {refused}");
        let released = python.must("released", "a", format!("release {library} k"));
        let ((), held) = tokio::join!(released, lock().wait(LIMIT).acquire());
        let held = held.unwrap();
        python.must("busy", "a", format!("acquire {library} k")).await;
        held.release().await.unwrap();
        python.must("held", "a", format!("acquire {library} k")).await;
        python.must("released", "a", format!("release {library} k")).await;
    }
}

#[tokio::test]
async fn a_waiter_that_polls_is_granted_the_lock_after_our_release() {
    let world = World::start().await;
    for (library, prefix) in &LIBRARIES[..2] {
        let client = world.ours(prefix).await;
        let held = client.write("k").acquire().await.unwrap();
        let tried = world.cli.calls("set").await;
        let waits = world.python.tell("a", format!("acquire {library} k 60"));
        eventually("its tries", LIMIT, async || world.cli.calls("set").await > tried + 1).await;
        assert!(!waits.is_answered());
        held.release().await.unwrap();
        waits.must("held").await;
        world.python.must("released", "a", format!("release {library} k")).await;
    }
}

#[tokio::test]
async fn a_waiter_of_python_redis_lock_is_not_woken_by_our_release() {
    let world = World::start().await;
    let client = world.ours("lock:").await;
    let held = client.write("k").acquire().await.unwrap();
    let waits = world.python.tell("a", format!("acquire {REDIS_LOCK} k 60"));
    eventually("its wait for a signal", LIMIT, async || world.waits_for_signal().await).await;
    held.release().await.unwrap();
    // Redis would have served it in the same step as a push.
    assert!(world.waits_for_signal().await && !world.cli.exists("lock:k").await);
    // As its release does.
    world.cli.query::<u64>(&["LPUSH", SIGNAL, "1"]).await;
    waits.must("held").await;

    // The signal that a release leaves is no obstacle for ours, and ours leave it where it is.
    world.python.must("released", "a", format!("release {REDIS_LOCK} k")).await;
    world.cli.query::<bool>(&["PERSIST", SIGNAL]).await;
    client.write("k").acquire().await.unwrap().release().await.unwrap();
    assert_eq!(world.cli.list(SIGNAL).await, ["1"]);
}

#[tokio::test]
async fn a_lock_without_a_ttl_is_a_wrong_kind() {
    let world = World::start().await;
    let client = world.ours("lock:").await;
    let library = format!("{REDIS_LOCK}-without-ttl");
    world.python.must("held", "a", format!("acquire {library} k")).await;
    let refused = client.write("k").wait(LIMIT).acquire().await.unwrap_err();
    assert!(matches!(refused, AcquireError::WrongKind(_)), "{refused}");
    world.python.must("released", "a", format!("release {library} k")).await;
}

/// Readers of several processes are a sorted set in Redis.
#[tokio::test]
async fn beside_our_readers_python_redis_lock_has_an_error_instead_of_busy() {
    let world = World::start().await;
    for (library, prefix) in LIBRARIES {
        let clients = [world.ours(prefix).await, world.ours(prefix).await];
        let one = clients[0].read("k").acquire().await.unwrap();
        world.python.must("busy", "a", format!("acquire {library} k")).await;
        let other = clients[1].read("k").acquire().await.unwrap();
        let refused = world.python.ask("a", format!("acquire {library} k")).await;
        if library == REDIS_LOCK {
            assert!(refused.starts_with("failed") && refused.contains("WRONGTYPE"), "{refused}");
        } else {
            assert_eq!(refused, "busy", "{library}");
        }
        one.release().await.unwrap();
        other.release().await.unwrap();
    }
}

#[tokio::test]
async fn reset_all_of_python_redis_lock_deletes_our_locks() {
    let world = World::start().await;
    let client = world.ours("lock:").await;
    let held = client.write("k").acquire().await.unwrap();
    world.python.must("done", "a", "reset_all _ _").await;
    assert!(!world.cli.exists("lock:k").await);
    drop(held);
}
