-- lib/commands: every command that the scripts call, in a form that changes nothing, on a name that no lock
-- has.

-- These create no key. The command that does is in `creating`, because a key without the right to DEL would
-- remain. INCRBY and MGET are sent as plain commands.
local function harmless(lock)
  return {
    {'time'}, {'exists', lock}, {'del', lock}, {'pexpire', lock, 1}, {'pttl', lock},
    {'get', lock}, {'mget', lock}, {'set', lock, '', 'xx'}, {'hlen', lock}, {'hget', lock, ''}, {'hvals', lock}, {'incrby', lock, 'no number'},
    {'zadd', lock, 'xx', 0, ''}, {'zcount', lock, 0, 0}, {'zrange', lock, 0, 0}, {'zrangebyscore', lock, 0, 0},
    {'zrem', lock, ''}, {'zrevrange', lock, 0, 0}, {'zrevrangebyscore', lock, 0, 0}, {'zscore', lock, ''},
    {'scard', lock}, {'sismember', lock, ''},
  }
end

local function creating(lock)
  return {{'sadd', lock, ''}}
end

