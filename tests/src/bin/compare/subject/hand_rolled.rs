//! What one writes oneself: `SET NX PX`, a script that compares and deletes, a poll every 5 ms.

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

#[derive(Clone)]
pub(crate) struct HandRolled {
    connection: MultiplexedConnection,
    awaits_release: bool,
    on_their_way: Arc<AtomicUsize>,
}

pub(crate) struct Held {
    key: String,
    token: String,
}

impl HandRolled {
    pub(super) async fn connect(url: &str, awaits_release: bool) -> Self {
        let mut connection = dial(url).await;
        COMPARE_AND_DELETE.load_async(&mut connection).await.expect("SCRIPT LOAD");
        Self { connection, awaits_release, on_their_way: Arc::default() }
    }

    pub(super) async fn take(&self, key: &str) -> Held {
        let token = format!("{:032x}", fastrand::u128(..));
        let mut connection = self.connection.clone();
        let mut set = redis::cmd("SET");
        set.arg(key).arg(&token).arg("NX").arg("PX").arg(LEASE.as_millis() as u64);
        loop {
            let set: Option<String> = set.query_async(&mut connection).await.expect("SET");
            if set.is_some() {
                return Held { key: key.to_owned(), token };
            }
            sleep(POLL).await;
        }
    }

    pub(super) async fn give_back(&self, held: Held) {
        let mut connection = self.connection.clone();
        let release = async move {
            let mut call = COMPARE_AND_DELETE.key(held.key);
            call.arg(held.token);
            let deleted: i64 = call.invoke_async(&mut connection).await.expect("EVALSHA");
            assert_eq!(deleted, 1, "the lock was gone");
        };
        if self.awaits_release {
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
