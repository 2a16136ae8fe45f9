-- lib/exclusive: a lock with one holder, `owner -> holds` and nothing else in its hash.

-- Returns an owner's holds; nil when the key is not such a lock.
local function holds_of(lock, owner)
  local state = redis.pcall('hmget', lock, 'mode', owner)
  if state.err then
    if not string.find(state.err, 'WRONGTYPE') then redis.call('hmget', lock, 'mode', owner) end
    return nil
  end
  if state[1] then return nil end
  return parse_int(state[2] or 0, 0, MOST_HOLDS)
end

-- Returns the same, and whether the lock has a holder.
local function exclusive_holds(lock, owner)
  local fields = redis.pcall('hlen', lock)
  if fields == 0 then return 0, false end
  if fields == 1 then
    local holder, holds = unpack(redis.call('hgetall', lock))
    local held = holder ~= 'mode' and parse_int(holds, 1, MOST_HOLDS)
    -- A hash of the application is not a lock: a caller would wait for its end forever.
    if not held then return nil end
    return holder == owner and held or 0, true
  end
  local held = holds_of(lock, owner)
  if held and held > 0 then return held, true end
  if held and type(fields) == 'table' then redis.call('hlen', lock) end
  return nil
end

-- Adds a hold. All holds of the owner share one TTL.
local function add_hold(lock, owner, holds, lease_ms)
  redis.call('pexpire', lock, math.max(lease_ms, redis.call('pttl', lock)))
  redis.call('hset', lock, owner, holds)
end

-- Reduces an owner's holds. Returns FREED, RELEASED or GONE.
local function release_exclusive(lock, owner, holds)
  local held = holds_of(lock, owner) or 0
  if held == 0 or held < holds then return 'GONE' end
  if held == holds then return 'RELEASED' end
  if holds == 0 then
    redis.call('del', lock)
    return 'FREED'
  end
  -- Deletes no field: Redis lets a script that has begun to write continue at its memory limit, and
  -- deleting the only field would delete the hash and its TTL.
  redis.call('hdel', lock, '')
  redis.call('hset', lock, owner, holds)
  return 'RELEASED'
end

