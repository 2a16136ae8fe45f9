-- lib/fair_lock_queue: the waiters of a fair lock, in Redisson's queue and deadlines. Redisson drops a
-- head whose deadline has passed, minutes after it died. A waiter of this library also has a place in
-- `alive` that ends soon unless the waiter renews it.
--
-- Redisson gives each waiter a deadline one wait_ms after the one before it. When a waiter is granted
-- the lock or leaves, it subtracts wait_ms from every deadline behind: one command per waiter. Places
-- of this library add no wait_ms. Each has at least the deadline of the place before it, so nothing has
-- to be subtracted when it goes, and no step costs more in a long queue. What must hold:
--
-- * Redisson must not drop a live waiter of this library. Each of Redisson's waiters ahead subtracts one
--   wait_ms from its deadline. So the deadline is one wait_ms away for each of them, plus one more. A
--   renewal sets it again when half a wait_ms of that is gone.
-- * A dead waiter of Redisson's must be dropped in time. Behind waiters of this library its deadline is
--   at most one wait_ms later than behind Redisson's waiters alone: 10 minutes, not 5.
-- * Deadlines must not drift into the future, however many waiters come and go. A deadline set here
--   never exceeds that of the last waiter, or the holder's time left plus the wait_ms ahead.

-- In one call; the next call continues.
local MOST_DROPPED = 1000

-- Whether the keys are a queue, or do not exist.
local function is_fair_lock_queue(queue, deadlines, alive)
  for _, look in ipairs({{'llen', queue}, {'zcard', deadlines}, {'zcard', alive}}) do
    local size = redis.pcall(look[1], look[2])
    if type(size) == 'table' then
      if not string.find(size.err, 'WRONGTYPE') then redis.call(look[1], look[2]) end
      return false
    end
  end
  return true
end

-- Returns the time (ms) after which a waiter counts as dead.
local function waiter_left_ms(deadlines, alive, waiter, now)
  local ends = redis.call('zscore', alive, waiter)
  if not ends and not is_own_client(waiter) then ends = redis.call('zscore', deadlines, waiter) end
  return tonumber(ends or 0) - now
end

-- Returns the first live waiter, its time left, and the number of dead waiters before it. A caller that
-- renews its place late keeps it, unless another client has dropped it meanwhile.
local function first_live_waiter(queue, deadlines, alive, now, caller)
  local dead = 0
  while true do
    local waiter = redis.call('lindex', queue, dead)
    if not waiter then return nil, 0, dead end
    local left_ms = waiter_left_ms(deadlines, alive, waiter, now)
    if left_ms > 0 or waiter == caller or dead == MOST_DROPPED then return waiter, left_ms, dead end
    dead = dead + 1
  end
end

-- When only Redisson's waiters are left, removes the TTL, because Redisson sets none.
local function persist_for_redisson(queue, deadlines, alive)
  if redis.call('zcard', alive) > 0 then return end
  -- An eviction removed the queue alone, so the deadlines belong to no waiter.
  if redis.call('llen', queue) == 0 then return redis.call('del', deadlines) end
  redis.call('persist', queue)
  redis.call('persist', deadlines)
end

local function drop_dead_heads(queue, deadlines, alive, dead)
  if dead == 0 then return end
  local dropped = redis.call('lrange', queue, 0, dead - 1)
  redis.call('ltrim', queue, dead, -1)
  redis.call('zrem', deadlines, unpack(dropped))
  redis.call('zrem', alive, unpack(dropped))
  persist_for_redisson(queue, deadlines, alive)
end

-- LREM searches from the head, and a waiter that is granted the lock is the head.
local function leave_queue(queue, deadlines, alive, waiter)
  redis.call('zrem', alive, waiter)
  redis.call('zrem', deadlines, waiter)
  if redis.call('lrem', queue, 1, waiter) == 1 then persist_for_redisson(queue, deadlines, alive) end
end

-- If the lock is free, drops the dead waiters at the head, and wakes the first live one.
local function wake_head(lock, queue, deadlines, alive, channel)
  if redis.call('exists', lock) == 1 then return end
  local head, _, dead = first_live_waiter(queue, deadlines, alive, now_ms())
  drop_dead_heads(queue, deadlines, alive, dead)
  if head then publish(channel .. ':' .. head, '0') end
end

-- Returns whether a waiter is in a queue of this size. Searches the queue only if an eviction may have
-- removed one of the keys.
local function is_queued(queue, deadlines, alive, waiter, size)
  local ends, lives = redis.call('zscore', deadlines, waiter), redis.call('zscore', alive, waiter)
  if not ends and not lives then return false end
  if ends and lives and size >= redis.call('zcard', deadlines) then return true end
  return redis.call('lpos', queue, waiter) ~= false
end

-- Takes a place at the end, or renews the waiter's place.
local function join_or_renew_queue_place(queue, deadlines, alive, waiter, now, held_ms, place_ms, wait_ms)
  local size = redis.call('llen', queue)
  local queued = is_queued(queue, deadlines, alive, waiter, size)
  local redissons = math.max(size - redis.call('zcard', alive), 0)
  local deadline
  if queued then
    -- Redisson's waiters behind it do not change its deadline.
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
  if not queued then redis.call('rpush', queue, waiter) end

  if redis.call('llen', queue) <= redis.call('zcard', alive) then
    redis.call('pexpire', queue, ttl_ms)
    redis.call('pexpire', deadlines, ttl_ms)
  else
    redis.call('persist', queue)
    redis.call('persist', deadlines)
  end
end

