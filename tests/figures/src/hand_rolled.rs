//! A hand-rolled lock: `SET NX PX`, a script that compares and deletes, a poll every 5 ms.

use std::{sync::LazyLock, time::Duration};

use redis::{Script, aio::MultiplexedConnection};
use tokio::time::sleep;

use crate::{LEASE, dial::dial, on_their_way::OnTheirWay};

pub const POLL: Duration = Duration::from_millis(5);

static COMPARE_AND_DELETE: LazyLock<Script> = LazyLock::new(|| {
    Script::new(
        "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) end \
         return 0",
    )
});

#[derive(Clone)]
pub struct HandRolled {
    connection: MultiplexedConnection,
    awaited: bool,
    on_their_way: OnTheirWay,
}

pub struct Held {
    key: String,
    token: String,
}

impl HandRolled {
    pub async fn connect(url: &str, awaited: bool) -> Self {
        let mut connection = dial(url).await;
        COMPARE_AND_DELETE.load_async(&mut connection).await.expect("SCRIPT LOAD");
        Self { connection, awaited, on_their_way: OnTheirWay::default() }
    }

    pub async fn take(&self, key: &str) -> Held {
        let token = format!("{:032x}", fastrand::u128(..));
        while !self.try_to_take(key, &token).await {
            sleep(POLL).await;
        }
        Held { key: key.to_owned(), token }
    }

    async fn try_to_take(&self, key: &str, token: &str) -> bool {
        let lease = LEASE.as_millis() as u64;
        let mut set = redis::cmd("SET");
        set.arg(key).arg(token).arg("NX").arg("PX").arg(lease);
        let set: Option<String> = set.query_async(&mut self.connection.clone()).await.expect("SET");
        set.is_some()
    }

    pub async fn give_back(&self, held: Held) {
        let mut connection = self.connection.clone();
        let release = async move {
            let mut call = COMPARE_AND_DELETE.key(held.key);
            call.arg(held.token);
            let deleted: i64 = call.invoke_async(&mut connection).await.expect("EVALSHA");
            assert_eq!(deleted, 1, "the lock was gone");
        };
        if self.awaited {
            return release.await;
        }
        self.on_their_way.send(release);
    }

    pub async fn settled(&self) {
        self.on_their_way.settled().await;
    }
}
