//! What one writes oneself: `SET NX PX`, a script that compares and deletes, a poll every 5 ms. And
//! the same with the least that Redisson's clients need to find in its place.

use std::{
    sync::{
        Arc, LazyLock,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use futures_util::FutureExt;
use redis::{Script, aio::MultiplexedConnection};
use tokio::time::sleep;

use super::LEASE;
use crate::dial::dial;

const POLL: Duration = Duration::from_millis(5);

static COMPARE_AND_DELETE: LazyLock<Script> = LazyLock::new(|| {
    Script::new(
        "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) end \
         return 0",
    )
});

/// Redisson's plain lock as one that is alone needs it: its hash and its message, but no token, nobody
/// who waits, nothing taken again and no argument looked at.
static TAKE_HASH: LazyLock<Script> = LazyLock::new(|| {
    Script::new(
        "if redis.call('exists', KEYS[1]) == 1 then return 0 end \
         redis.call('hset', KEYS[1], ARGV[1], '1') \
         redis.call('pexpire', KEYS[1], ARGV[2]) \
         return 1",
    )
});

static GIVE_HASH_BACK: LazyLock<Script> = LazyLock::new(|| {
    Script::new(
        "if redis.call('hget', KEYS[1], ARGV[1]) ~= '1' then return 0 end \
         redis.call('del', KEYS[1]) \
         redis.call('publish', KEYS[2], '0') \
         return 1",
    )
});

#[derive(Clone, Copy, PartialEq)]
pub(super) enum How {
    Awaited,
    NotAwaited,
    /// Not awaited.
    RedissonsHash,
}

#[derive(Clone)]
pub(crate) struct HandRolled {
    connection: MultiplexedConnection,
    how: How,
    on_their_way: Arc<AtomicUsize>,
}

pub(crate) struct Held {
    key: String,
    token: String,
}

impl HandRolled {
    pub(super) async fn connect(url: &str, how: How) -> Self {
        let mut connection = dial(url).await;
        for script in [&COMPARE_AND_DELETE, &TAKE_HASH, &GIVE_HASH_BACK] {
            script.load_async(&mut connection).await.expect("SCRIPT LOAD");
        }
        Self { connection, how, on_their_way: Arc::default() }
    }

    pub(super) async fn take(&self, key: &str) -> Held {
        let token = format!("{:032x}", fastrand::u128(..));
        while !self.try_to_take(key, &token).await {
            sleep(POLL).await;
        }
        Held { key: key.to_owned(), token }
    }

    async fn try_to_take(&self, key: &str, token: &str) -> bool {
        let mut connection = self.connection.clone();
        let lease = LEASE.as_millis() as u64;
        if self.how == How::RedissonsHash {
            let mut call = TAKE_HASH.key(key);
            call.arg(token).arg(lease);
            return call.invoke_async(&mut connection).await.expect("EVALSHA");
        }
        let mut set = redis::cmd("SET");
        set.arg(key).arg(token).arg("NX").arg("PX").arg(lease);
        let set: Option<String> = set.query_async(&mut connection).await.expect("SET");
        set.is_some()
    }

    pub(super) async fn give_back(&self, held: Held) {
        let (mut connection, how) = (self.connection.clone(), self.how);
        let release = async move {
            let mut call = if how == How::RedissonsHash {
                let channel = format!("redisson_lock__channel:{{{}}}", held.key);
                let mut call = GIVE_HASH_BACK.key(held.key);
                call.key(channel);
                call
            } else {
                COMPARE_AND_DELETE.key(held.key)
            };
            call.arg(held.token);
            let deleted: i64 = call.invoke_async(&mut connection).await.expect("EVALSHA");
            assert_eq!(deleted, 1, "the lock was gone");
        };
        if self.how == How::Awaited {
            return release.await;
        }
        // On its way before whatever this task asks next: its next `SET` may be of the same key.
        let mut release = Box::pin(release);
        if release.as_mut().now_or_never().is_some() {
            return;
        }
        // A task owns it: redis-rs skips a command whose future was dropped.
        let on_their_way = Arc::clone(&self.on_their_way);
        on_their_way.fetch_add(1, Ordering::Relaxed);
        tokio::spawn(async move {
            release.await;
            on_their_way.fetch_sub(1, Ordering::Relaxed);
        });
    }

    pub(super) async fn settled(&self) {
        while self.on_their_way.load(Ordering::Relaxed) > 0 {
            sleep(Duration::from_millis(1)).await;
        }
    }
}
