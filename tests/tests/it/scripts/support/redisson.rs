//! What Redisson 4.7 does to Redis, restated: its steps on keys, fields, TTLs and messages.
//!
//! Left out is what leaves no trace: the key by which an unlock is found again after a lost reply
//! lives for that one request.

use redis::Value;

use crate::scripts::support::call::{LEASE, reads};
use crate::scripts::support::keys::{CHANNEL, LOCK, TAG};
use crate::scripts::support::store::Store;

const READ: &str = "
local mode = redis.call('hget', KEYS[1], 'mode')
if mode and mode ~= 'read' and redis.call('hexists', KEYS[1], ARGV[1] .. ':write') == 0 then
  return redis.call('pttl', KEYS[1])
end
if not mode then redis.call('hset', KEYS[1], 'mode', 'read') end
local hold = redis.call('hincrby', KEYS[1], ARGV[1], 1)
redis.call('set', KEYS[3] .. ':' .. hold, 1, 'px', ARGV[2])
redis.call('pexpire', KEYS[1], math.max(redis.call('pttl', KEYS[1]), ARGV[2]))";

const WRITE: &str = "
local mode, own = redis.call('hget', KEYS[1], 'mode'), ARGV[1] .. ':write'
if not mode then
  redis.call('hset', KEYS[1], 'mode', 'write', own, 1)
  redis.call('pexpire', KEYS[1], ARGV[2])
elseif mode == 'write' and redis.call('hexists', KEYS[1], own) == 1 then
  redis.call('hincrby', KEYS[1], own, 1)
  redis.call('pexpire', KEYS[1], redis.call('pttl', KEYS[1]) + ARGV[2])
else
  return redis.call('pttl', KEYS[1])
end";

const UNLOCK_READ: &str = "
local mode = redis.call('hget', KEYS[1], 'mode')
if not mode then redis.call('publish', KEYS[2], 0) end
if not mode or redis.call('hexists', KEYS[1], ARGV[1]) == 0 then return nil end
local left = redis.call('hincrby', KEYS[1], ARGV[1], -1)
if left == 0 then redis.call('hdel', KEYS[1], ARGV[1]) end
redis.call('del', KEYS[3] .. ':' .. left + 1)
if redis.call('hlen', KEYS[1]) > 1 then
  local fields, longest = redis.call('hgetall', KEYS[1]), 0
  for at = 1, #fields, 2 do
    for hold = tonumber(fields[at + 1]) or 0, 1, -1 do
      local key = KEYS[4] .. ':' .. fields[at] .. ':rwlock_timeout:' .. hold
      longest = math.max(longest, redis.call('pttl', key))
    end
  end
  if longest > 0 then redis.call('pexpire', KEYS[1], longest) end
  if longest > 0 or mode == 'write' then return 0 end
end
redis.call('del', KEYS[1])
redis.call('publish', KEYS[2], 0)
return 1";

const UNLOCK_WRITE: &str = "
local own = ARGV[1] .. ':write'
local exists = redis.call('exists', KEYS[1])
if exists == 0 then redis.call('publish', KEYS[2], 1) end
if exists == 0 or redis.call('hexists', KEYS[1], own) == 0 then return nil end
if redis.call('hincrby', KEYS[1], own, -1) > 0 then
  redis.call('pexpire', KEYS[1], ARGV[2])
  return 0
end
redis.call('hdel', KEYS[1], own)
if redis.call('hlen', KEYS[1]) > 1 then
  redis.call('hset', KEYS[1], 'mode', 'read')
else
  redis.call('del', KEYS[1])
  redis.call('publish', KEYS[2], 1)
end
return 1";

const WATCH_READ: &str = "
local alive = 0
for hold = redis.call('hget', KEYS[1], ARGV[1]) or 0, 1, -1 do
  alive = alive + redis.call('pexpire', KEYS[3] .. ':' .. hold, ARGV[2])
end
if alive == 0 then return 0 end
return redis.call('pexpire', KEYS[1], ARGV[2])";

#[derive(Clone, Copy, Debug)]
pub(crate) enum Java {
    Read,
    Write,
    UnlockRead,
    UnlockWrite,
    WatchRead,
}

impl Java {
    /// What Redisson gets: `None` for a lock taken, and for an unlock without a hold.
    pub(crate) async fn ask(self, store: &Store, owner: &str) -> Option<i64> {
        self.ask_with(store, owner, LEASE).await
    }

    pub(crate) async fn ask_with(self, store: &Store, owner: &str, lease: i64) -> Option<i64> {
        let text = match self {
            Self::Read => READ,
            Self::Write => WRITE,
            Self::UnlockRead => UNLOCK_READ,
            Self::UnlockWrite => UNLOCK_WRITE,
            Self::WatchRead => WATCH_READ,
        };
        let (reads, lease) = (reads(owner), lease.to_string());
        let words = ["EVAL", text, "4", LOCK, CHANNEL, &reads, TAG, owner, &lease];
        match store.cli.query(&words).await {
            Value::Nil => None,
            Value::Int(number) => Some(number),
            other => panic!("{self:?} answers {other:?}"),
        }
    }
}
