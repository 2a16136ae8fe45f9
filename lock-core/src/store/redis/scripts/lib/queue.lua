-- lib/queue: the waiters of a fair lock, in Redisson's queue and deadlines. Redisson drops a head
-- whose deadline has passed, minutes after it died. A waiter of ours also has a place in `alive` that
-- ends soon unless the waiter renews it.
--
-- Redisson gives each waiter a deadline one wait_ms after the one before it, and takes wait_ms off
-- everybody behind when a waiter is granted the lock or leaves: one command for each waiter behind.
-- Ours count for nothing instead. A place of ours has at least the deadline of the one before it, so
-- nothing is to be taken off when it goes, and no step costs more in a long queue. What must hold:
--
-- * Redisson must not drop a waiter of ours that lives. Its own waiters ahead take wait_ms off our
--   deadline each, so the deadline is one wait_ms away for each of them and one more, and is set so
--   again when a renewal finds that half a wait_ms of that is gone.
-- * A dead waiter of Redisson's must be dropped in time. Behind ours its deadline is at most one
--   wait_ms later than behind Redisson's waiters alone: 10 minutes, not 5.
-- * Deadlines must not drift into the future, however many come and go. Ours never exceed the last
--   one's, or what the holder has left and the wait_ms that stand ahead.
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
  if not ends and not is_own_client(waiter) then ends = redis.call('zscore', deadlines, waiter) end
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

-- Where only Redisson's are left they have no TTL.
local function leave_to_redisson(queue, deadlines, alive)
  if redis.call('zcard', alive) > 0 then return end
  -- Deadlines of nobody who waits: an eviction took the queue alone.
  if redis.call('llen', queue) == 0 then return redis.call('del', deadlines) end
  redis.call('persist', queue)
  redis.call('persist', deadlines)
end

local function drop_heads(queue, deadlines, alive, dead)
  if dead == 0 then return end
  local dropped = redis.call('lrange', queue, 0, dead - 1)
  redis.call('ltrim', queue, dead, -1)
  redis.call('zrem', deadlines, unpack(dropped))
  redis.call('zrem', alive, unpack(dropped))
  leave_to_redisson(queue, deadlines, alive)
end

-- Redis looks for the waiter from the head on, which a waiter that is granted the lock is.
local function leave_queue(queue, deadlines, alive, waiter)
  redis.call('zrem', alive, waiter)
  redis.call('zrem', deadlines, waiter)
  if redis.call('lrem', queue, 1, waiter) == 1 then leave_to_redisson(queue, deadlines, alive) end
end

-- Drops the dead before the first that lives, and wakes that one, if the lock is free.
local function wake_head(lock, queue, deadlines, alive, channel)
  if redis.call('exists', lock) == 1 then return end
  local head, _, dead = head_of(queue, deadlines, alive, now_ms())
  drop_heads(queue, deadlines, alive, dead)
  if head then publish(channel .. ':' .. head, '0') end
end

-- Whether a waiter stands in a queue of this size. The queue is searched only where an eviction may
-- have taken one of the keys.
local function stands_in(queue, deadlines, alive, waiter, size)
  local ends, lives = redis.call('zscore', deadlines, waiter), redis.call('zscore', alive, waiter)
  if not ends and not lives then return false end
  if ends and lives and size >= redis.call('zcard', deadlines) then return true end
  return redis.call('lpos', queue, waiter) ~= false
end

-- Takes a place at the end, or renews the one that is there.
local function stand_in_queue(queue, deadlines, alive, waiter, now, held_ms, place_ms, wait_ms)
  local size = redis.call('llen', queue)
  local stands = stands_in(queue, deadlines, alive, waiter, size)
  local redissons = math.max(size - redis.call('zcard', alive), 0)
  local deadline
  if stands then
    -- Those behind it take nothing off.
    if redissons > 0 then redissons = math.min(redissons, redis.call('lpos', queue, waiter) or size) end
    local ends = tonumber(redis.call('zscore', deadlines, waiter) or 0)
    if ends - now < (redissons + 0.5) * wait_ms then deadline = now + (redissons + 1) * wait_ms end
  else
    local last = redis.call('lindex', queue, -1)
    local before = last and tonumber(redis.call('zscore', deadlines, last) or 0) or 0
    deadline = math.max(before, now + held_ms + (redissons + 1) * wait_ms)
  end
  redis.call('zadd', alive, now + place_ms, waiter)
  local last_sign = tonumber(redis.call('zrange', alive, -1, -1, 'withscores')[2])
  local ttl_ms = last_sign - now + place_ms
  set_ttl(alive, ttl_ms)
  if deadline then redis.call('zadd', deadlines, deadline, waiter) end
  if not stands then redis.call('rpush', queue, waiter) end

  if redis.call('llen', queue) <= redis.call('zcard', alive) then
    redis.call('pexpire', queue, ttl_ms)
    redis.call('pexpire', deadlines, ttl_ms)
  else
    redis.call('persist', queue)
    redis.call('persist', deadlines)
  end
end

