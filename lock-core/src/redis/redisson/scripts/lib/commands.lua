-- lib/commands: every command that the scripts call, in a form that changes nothing, on a name that no lock
-- has.

-- These create no key. The commands that do are in `creating`, because a key without the right to DEL
-- would remain.
local function harmless(lock)
  return {
    {'time'}, {'exists', lock}, {'type', lock}, {'del', lock}, {'pexpire', lock, 1}, {'pttl', lock}, {'persist', lock},
    {'get', lock}, {'set', lock, '', 'xx'}, {'incrby', lock, 'no number'},
    {'hget', lock, ''}, {'hmget', lock, ''}, {'hset', lock, '', '', 'no value'}, {'hdel', lock, ''}, {'hlen', lock},
    {'hgetall', lock}, {'hscan', lock, 0},
    {'llen', lock}, {'lpos', lock, ''}, {'lindex', lock, 0}, {'lrange', lock, 0, 0}, {'lrem', lock, 0, ''}, {'ltrim', lock, 0, 0},
    {'zadd', lock, 'xx', 0, ''}, {'zcard', lock}, {'zcount', lock, 0, 0}, {'zrange', lock, 0, 0}, {'zrangebyscore', lock, 0, 0},
    {'zrank', lock, ''}, {'zrem', lock, ''}, {'zremrangebyscore', lock, 0, 0}, {'zscore', lock, ''},
    {'scard', lock}, {'sismember', lock, ''},
  }
end

local function creating(lock)
  return {{'rpush', lock, ''}, {'sadd', lock, ''}}
end

