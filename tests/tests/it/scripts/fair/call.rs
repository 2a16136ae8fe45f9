//! Calls of fair/*, and Redisson's steps on the same keys.

use redis::Value;

use crate::scripts::support::call::{Call, HOUR, LEASE};
use crate::scripts::support::keys::{ALIVE, COUNTER, DEADLINES, LOCK, LOCK_CHANNEL, QUEUE, TOKEN};
use crate::scripts::support::store::Store;

/// How long a place in line lives.
pub(crate) const PLACE: i64 = 200_000;
/// What Redisson counts for each of its waiters.
pub(crate) const WAIT: i64 = 300_000;

pub(crate) fn acquire(owner: &str, holds: u32) -> Call {
    Call::new(
        "fair/acquire",
        [LOCK, QUEUE, DEADLINES, ALIVE, TOKEN, LOCK_CHANNEL, COUNTER],
        [
            ("owner", &owner),
            ("lease", &LEASE),
            ("holds", &holds),
            ("place_ms", &PLACE),
            ("wait_ms", &WAIT),
            ("token_ttl", &HOUR),
        ],
    )
}

pub(crate) fn release(owner: &str, holds: u32) -> Call {
    Call::new(
        "fair/release",
        [LOCK, QUEUE, DEADLINES, ALIVE, LOCK_CHANNEL],
        [("owner", &owner), ("holds", &holds), ("queued", &0)],
    )
}

/// The call of a waiter that gives up.
pub(crate) fn leave(owner: &str) -> Call {
    release(owner, 0).with("queued", 1)
}

/// Waiters that give up together.
pub(crate) fn leave_together(owners: &[&str]) -> Call {
    let call = Call::new("fair/leave", [LOCK, QUEUE, DEADLINES, ALIVE, LOCK_CHANNEL], []);
    let args = owners.iter().map(|owner| ("owners", (*owner).to_owned())).collect();
    Call { args, ..call }
}

/// Drops the heads whose time is over, as most of Redisson's steps do first.
const DROP: &str = "
local lock, queue, deadlines, channel = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local owner, lease, wait, now = ARGV[1], ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4])
while true do
  local head = redis.call('lindex', queue, 0)
  local ends = head and redis.call('zscore', deadlines, head)
  if not ends or tonumber(ends) > now then break end
  redis.call('zrem', deadlines, head)
  redis.call('lpop', queue)
end
";

const ACQUIRE: &str = "
local head = redis.call('lindex', queue, 0)
if redis.call('exists', lock) == 0 and (not head or head == owner) then
  redis.call('lpop', queue)
  redis.call('zrem', deadlines, owner)
  for _, other in ipairs(redis.call('zrange', deadlines, 0, -1)) do
    redis.call('zincrby', deadlines, -wait, other)
  end
  redis.call('hset', lock, owner, 1)
  redis.call('pexpire', lock, lease)
  return nil
end
if redis.call('hexists', lock, owner) == 1 then
  redis.call('hincrby', lock, owner, 1)
  redis.call('pexpire', lock, lease)
  return nil
end
if redis.call('zscore', deadlines, owner) then return math.max(0, redis.call('pttl', lock)) end
local last, ttl = redis.call('lindex', queue, -1), redis.call('pttl', lock)
local ends = last and redis.call('zscore', deadlines, last)
if ends then ttl = tonumber(ends) - now end
if redis.call('zadd', deadlines, ttl + wait + now, owner) == 1 then redis.call('rpush', queue, owner) end
return ttl";

const UNLOCK: &str = "
local function tell()
  local head = redis.call('lindex', queue, 0)
  if head then redis.call('publish', channel .. ':' .. head, 0) end
end
if redis.call('exists', lock) == 0 then
  tell()
  return 1
end
if redis.call('hexists', lock, owner) == 0 then return nil end
if redis.call('hincrby', lock, owner, -1) > 0 then
  redis.call('pexpire', lock, lease)
  return 0
end
redis.call('del', lock)
tell()
return 1";

/// A waiter gives up.
const FAIL: &str = "
local behind = false
for _, other in ipairs(redis.call('lrange', queue, 0, -1)) do
  if other == owner then
    behind = true
  elseif behind then
    redis.call('zincrby', deadlines, -wait, other)
  end
end
redis.call('zrem', deadlines, owner)
redis.call('lrem', queue, 0, owner)";

#[derive(Clone, Copy, Debug)]
pub(crate) enum JavaFair {
    Acquire,
    Unlock,
    Fail,
}

impl JavaFair {
    /// What Redisson gets: `None` for a lock taken, and for an unlock without a hold.
    pub(crate) async fn ask(self, store: &Store, owner: &str) -> Option<i64> {
        self.ask_ahead(store, owner, 0).await
    }

    /// With a client's clock that is ahead of Redis'.
    pub(crate) async fn ask_ahead(self, store: &Store, owner: &str, ahead: i64) -> Option<i64> {
        let text = match self {
            Self::Acquire => format!("{DROP}{ACQUIRE}"),
            Self::Unlock => format!("{DROP}{UNLOCK}"),
            Self::Fail => DROP.split("while").next().unwrap().to_owned() + FAIL,
        };
        let (lease, wait) = (LEASE.to_string(), WAIT.to_string());
        let now = (store.now().await + ahead).to_string();
        let keys = [LOCK, QUEUE, DEADLINES, LOCK_CHANNEL];
        let words = [&["EVAL", &text, "4"][..], &keys, &[owner, &lease, &wait, &now]].concat();
        match store.cli.query(&words).await {
            Value::Nil => None,
            Value::Int(number) => Some(number),
            other => panic!("{self:?} answers {other:?}"),
        }
    }
}
