-- common/missing_rights: what the user may not do of all that the scripts do. Every command is asked
-- for in a way that changes nothing, under names that no lock has; what two of them make is deleted
-- at once. On a node of a cluster that has none of the names too: rights are looked at first.
--
-- ARGV[1] nonce
-- ARGV[2] lock   a name that no lock has
-- ARGV[3] count  how many names of other keys follow, then channels
--
-- Returns {RIGHTS, nonce, missing commands, numbers of the names (0: lock) and numbers of the
--          channels, both as they follow, that the user may not use}
local nonce, lock, count = ARGV[1], ARGV[2], tonumber(ARGV[3])
local names = {unpack(ARGV, 4)}

-- A time to live can be given to what is there, but a key that may not be deleted would stay.
local ASKS = {
  {'time'}, {'exists', lock}, {'type', lock}, {'del', lock}, {'pexpire', lock, 1}, {'pttl', lock}, {'persist', lock},
  {'get', lock}, {'set', lock, '', 'xx'}, {'incrby', lock, 'no number'},
  {'hget', lock, ''}, {'hmget', lock, ''}, {'hset', lock, '', '', 'no value'}, {'hdel', lock, ''}, {'hlen', lock},
  {'hgetall', lock}, {'hscan', lock, 0},
  {'llen', lock}, {'lpos', lock, ''}, {'lindex', lock, 0}, {'lrange', lock, 0, 0}, {'lrem', lock, 0, ''}, {'ltrim', lock, 0, 0},
  {'zadd', lock, 'xx', 0, ''}, {'zcard', lock}, {'zcount', lock, 0, 0}, {'zrange', lock, 0, 0}, {'zrangebyscore', lock, 0, 0},
  {'zrank', lock, ''}, {'zrem', lock, ''}, {'zremrangebyscore', lock, 0, 0}, {'zscore', lock, ''},
  {'scard', lock}, {'sismember', lock, ''},
}
local MAKES = {{'rpush', lock, ''}, {'sadd', lock, ''}}

local commands, keys, channels, denied = {}, {}, {}, {}

-- What of it is refused for want of a right: a command, a key or a channel. Redis says so in other
-- words from version to version.
local function lacks(answer)
  local why = type(answer) == 'table' and answer.err or ''
  if not (string.find(why, 'user executing the script') or string.find(why, 'ACL failure') or string.find(why, 'NOPERM')) then
    return nil
  end
  if string.find(why, ' run ', 1, true) then return 'command' end
  return string.find(why, 'channel', 1, true) and 'channel' or 'key'
end

local function deny(command)
  if not denied[command] then commands[#commands + 1] = command end
  denied[command] = true
end

local function ask(ask_for)
  local answer = redis.pcall(unpack(ask_for))
  local lacking = lacks(answer)
  if lacking == 'command' then deny(ask_for[1]) end
  if lacking == 'key' and not keys[1] then keys[1] = 0 end
  return answer
end

for _, ask_for in ipairs(ASKS) do ask(ask_for) end
if not denied['del'] and not keys[1] then
  for _, make in ipairs(MAKES) do
    if ask(make) == 1 then redis.call('del', lock) end
  end
end

-- One that only reads and one that only writes: Redis 7 knows rights to either.
local function may_use(name)
  return lacks(redis.pcall('pttl', name)) ~= 'key' and lacks(redis.pcall('pexpire', name, 1)) ~= 'key'
end

for at, name in ipairs(names) do
  if at <= count then
    if not may_use(name) then keys[#keys + 1] = at end
  else
    local told, shard = publish(name, '')
    if lacks(told) == 'command' then deny("publish") end
    if lacks(shard) == 'command' then deny("spublish") end
    if lacks(told) == 'channel' or lacks(shard) == 'channel' then channels[#channels + 1] = at - count end
  end
end
return {'RIGHTS', nonce, commands, keys, channels}
