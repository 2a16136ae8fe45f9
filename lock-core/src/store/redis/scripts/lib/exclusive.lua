-- lib/exclusive: a lock with one holder, `owner -> holds` and nothing else in its hash.

-- An owner's holds; nil when something else stands under the lock's name.
local function held_by(lock, owner)
  local state = redis.pcall('hmget', lock, 'mode', owner)
  if state.err then
    if not string.find(state.err, 'WRONGTYPE') then redis.call('hmget', lock, 'mode', owner) end
    return nil
  end
  if state[1] then return nil end
  return parse_int(state[2] or 0, 0, MOST_HOLDS)
end

-- The same, and whether anybody holds it.
local function exclusive_holds(lock, owner)
  local fields = redis.pcall('hlen', lock)
  if fields == 0 then return 0, false end
  if fields == 1 then
    local holder, holds = unpack(redis.call('hgetall', lock))
    local held = holder ~= 'mode' and parse_int(holds, 1, MOST_HOLDS)
    -- An application's record is nobody's lock, and waiting for its end would be for ever.
    if not held then return nil end
    return holder == owner and held or 0, true
  end
  local held = held_by(lock, owner)
  if held and held > 0 then return held, true end
  if held and type(fields) == 'table' then redis.call('hlen', lock) end
  return nil
end

-- Another hold on top of those that are there, which live as long as it.
local function hold_again(lock, owner, holds, lease_ms)
  redis.call('pexpire', lock, math.max(lease_ms, redis.call('pttl', lock)))
  redis.call('hset', lock, owner, holds)
end

-- Brings an owner's holds down; says FREED, RELEASED or GONE.
local function release_sole(lock, owner, holds)
  local held = held_by(lock, owner) or 0
  if held == 0 or held < holds then return 'GONE' end
  if held == holds then return 'RELEASED' end
  if holds == 0 then
    redis.call('del', lock)
    return 'FREED'
  end
  -- Removes nothing: Redis lets a script that has begun to write go on at its memory limit, and
  -- without its only field the hash would lose its TTL.
  redis.call('hdel', lock, '')
  redis.call('hset', lock, owner, holds)
  return 'RELEASED'
end

