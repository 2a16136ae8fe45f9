//! Redisson's plain lock without contention, by hand: its hash and its message, without waiters,
//! re-entry or checks of arguments. With a fencing token, or without.

use std::sync::LazyLock;

use redis::{Script, aio::MultiplexedConnection};
use tokio::time::sleep;

use crate::{LEASE, OnTheirWay, POLL, dial};

static TAKE: LazyLock<Script> = LazyLock::new(|| {
    Script::new(
        "if redis.call('exists', KEYS[1]) == 1 then return 0 end \
         redis.call('hset', KEYS[1], ARGV[1], '1') \
         redis.call('pexpire', KEYS[1], ARGV[2]) \
         return 1",
    )
});

/// Tokens grow although the last one expires in Redis, and a permanent one stays permanent.
static TAKE_WITH_TOKEN: LazyLock<Script> = LazyLock::new(|| {
    Script::new(
        "if redis.call('exists', KEYS[1]) == 1 then return 0 end \
         local last, now = redis.call('get', KEYS[2]), redis.call('time') \
         local token = string.format('%s%06d', now[1], now[2]) \
         if last and last >= token then token = string.format('%.0f', last + 1) end \
         if last and redis.call('pttl', KEYS[2]) == -1 then redis.call('set', KEYS[2], token) \
         else redis.call('set', KEYS[2], token, 'px', 3600000) end \
         redis.call('hset', KEYS[1], ARGV[1], '1') \
         redis.call('pexpire', KEYS[1], ARGV[2]) \
         return token",
    )
});

static GIVE_BACK: LazyLock<Script> = LazyLock::new(|| {
    Script::new(
        "if redis.call('hget', KEYS[1], ARGV[1]) ~= '1' then return 0 end \
         redis.call('del', KEYS[1]) \
         redis.call('publish', KEYS[2], '0') \
         return 1",
    )
});

#[derive(Clone)]
pub struct RedissonsHash {
    connection: MultiplexedConnection,
    with_token: bool,
    awaited: bool,
    on_their_way: OnTheirWay,
}

pub struct HashHeld {
    key: String,
    owner: String,
}

impl RedissonsHash {
    pub async fn connect(url: &str, with_token: bool, awaited: bool) -> Self {
        let mut connection = dial(url).await;
        for script in [&TAKE, &TAKE_WITH_TOKEN, &GIVE_BACK] {
            script.load_async(&mut connection).await.expect("SCRIPT LOAD");
        }
        Self { connection, with_token, awaited, on_their_way: OnTheirWay::default() }
    }

    pub async fn take(&self, key: &str) -> HashHeld {
        let owner = format!("{:032x}", fastrand::u128(..));
        while self.try_to_take(key, &owner).await == 0 {
            sleep(POLL).await;
        }
        HashHeld { key: key.to_owned(), owner }
    }

    /// 0 where another has it.
    async fn try_to_take(&self, key: &str, owner: &str) -> u64 {
        let mut call = if self.with_token {
            let mut call = TAKE_WITH_TOKEN.key(key);
            call.key(format!("{{{key}}}:token"));
            call
        } else {
            TAKE.key(key)
        };
        call.arg(owner).arg(LEASE.as_millis() as u64);
        call.invoke_async(&mut self.connection.clone()).await.expect("EVALSHA")
    }

    pub async fn give_back(&self, held: HashHeld) {
        let mut connection = self.connection.clone();
        let release = async move {
            let channel = format!("redisson_lock__channel:{{{}}}", held.key);
            let mut call = GIVE_BACK.key(held.key);
            call.key(channel).arg(held.owner);
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
