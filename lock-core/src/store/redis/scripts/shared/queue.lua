-- shared/queue: who waits for a fair lock, in Redisson's queue and deadlines. Redisson passes a
-- waiter by when its deadline is over, minutes after it has died, so ours also give a sign of life
-- that ends soon. Deadlines are kept as Redisson keeps them: each of ours ahead is worth wait_ms.
local MOST_DROPPED = 1000 -- in one call; the next one goes on

local function is_queue(queue, deadlines, alive)
  for _, look in ipairs({{'llen', queue}, {'zcard', deadlines}, {'zcard', alive}}) do
    local size = redis.pcall(look[1], look[2])
    if type(size) == 'table' then
      if not string.find(size.err, 'WRONGTYPE') then redis.call(look[1], look[2]) end
      return false
    end
  end
  return true
end

-- The time (ms) after which a waiter may be passed by.
local function waiter_left_ms(deadlines, alive, waiter, now)
  local ends = redis.call('zscore', alive, waiter)
  if not ends and not is_ours(waiter) then ends = redis.call('zscore', deadlines, waiter) end
  return tonumber(ends or 0) - now
end

-- The first that lives, the time it has, and how many dead ones stand before it. A caller that comes
-- late keeps its place if nobody has missed it.
local function head_of(queue, deadlines, alive, now, caller)
  local dead = 0
  while true do
    local waiter = redis.call('lindex', queue, dead)
    if not waiter then return nil, 0, dead end
    local left_ms = waiter_left_ms(deadlines, alive, waiter, now)
    if left_ms > 0 or waiter == caller or dead == MOST_DROPPED then return waiter, left_ms, dead end
    dead = dead + 1
  end
end

-- `incr` with `xx` leaves out those who have no deadline, instead of making one.
local function bring_forward(deadlines, waiters, ms)
  for _, waiter in ipairs(waiters) do redis.call('zadd', deadlines, 'xx', 'incr', -ms, waiter) end
end

-- Where only Redisson's are left they have no TTL.
local function leave_to_redisson(queue, deadlines, alive)
  if redis.call('zcard', alive) > 0 then return end
  -- Deadlines of nobody who waits: an eviction took the queue alone.
  if redis.call('llen', queue) == 0 then return redis.call('del', deadlines) end
  redis.call('persist', queue)
  redis.call('persist', deadlines)
end

local function drop_heads(queue, deadlines, alive, dead, wait_ms)
  if dead == 0 then return end
  local dropped = redis.call('lrange', queue, 0, dead - 1)
  redis.call('ltrim', queue, dead, -1)
  local ours = 0
  for _, waiter in ipairs(dropped) do
    redis.call('zrem', deadlines, waiter)
    if redis.call('zrem', alive, waiter) == 1 or is_ours(waiter) then ours = ours + 1 end
  end
  -- What Redisson counted for its own is not known: 4.x takes the wait of the caller. Its deadline
  -- is over, and so is what it was worth.
  bring_forward(deadlines, redis.call('zrange', deadlines, 0, -1), ours * wait_ms)
  leave_to_redisson(queue, deadlines, alive)
end

local function leave_queue(queue, deadlines, alive, waiter, wait_ms)
  redis.call('zrem', alive, waiter)
  redis.call('zrem', deadlines, waiter)
  local place = redis.call('lpos', queue, waiter)
  if not place then return end
  redis.call('lrem', queue, 0, waiter)
  bring_forward(deadlines, redis.call('lrange', queue, place, -1), wait_ms)
  leave_to_redisson(queue, deadlines, alive)
end

-- Takes a place at the end, or keeps the one that is there for another while.
local function stand_in_queue(queue, deadlines, alive, waiter, now, held_ms, place_ms, wait_ms)
  local place, deadline = redis.call('lpos', queue, waiter), nil
  if place then
    local stands = tonumber(redis.call('zscore', deadlines, waiter) or 0)
    if stands - now < (place + 0.5) * wait_ms then deadline = now + (place + 1) * wait_ms end
  else
    local last = redis.call('lindex', queue, -1)
    local before = last and tonumber(redis.call('zscore', deadlines, last) or 0) or now + held_ms
    deadline = math.max(before, now) + wait_ms
  end
  redis.call('zadd', alive, now + place_ms, waiter)
  local last_sign = tonumber(redis.call('zrange', alive, -1, -1, 'withscores')[2])
  local ttl_ms = last_sign - now + place_ms
  end_in(alive, ttl_ms)
  if deadline then redis.call('zadd', deadlines, deadline, waiter) end
  if not place then redis.call('rpush', queue, waiter) end

  if redis.call('llen', queue) <= redis.call('zcard', alive) then
    redis.call('pexpire', queue, ttl_ms)
    redis.call('pexpire', deadlines, ttl_ms)
  else
    redis.call('persist', queue)
    redis.call('persist', deadlines)
  end
end

