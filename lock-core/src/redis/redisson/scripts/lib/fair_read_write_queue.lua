-- lib/fair_read_write_queue: the waiters of a fair read/write lock, a sorted set of `mode:owner` in order
-- of arrival. Each place ends at a time that its waiter extends; scripts remove ended places that they
-- find. While the lock is held or waited for, the set has a member `fair` with score 0, before all
-- waiters: clients of the other read/write kind see from it that the lock is of the fair kind. Before
-- `fair` each writer has a second member, `writer:owner`, with its number negated. So the member right
-- before `fair` is the first writer, and a reader finds it without visiting the readers before it.

-- The queue must not expire before its lock, and the two TTLs are set one after the other.
local QUEUE_SLACK_MS = 1000
local PAGE, MOST_WOKEN = 16, 100

-- Returns whether the queue exists; nil when one of the keys is something else.
local function has_fair_queue(line, alive)
  local own, places = redis.pcall('zscore', line, 'fair'), redis.pcall('zcard', alive)
  for _, found in ipairs({own or '0', places}) do
    if type(found) == 'table' then
      if not string.find(found.err, 'WRONGTYPE') then redis.call('zscore', line, 'fair') end
      return nil
    end
  end
  if own then return tonumber(own) == 0 or nil end
  if redis.call('zcard', line) > 0 then return nil end
  return false
end

-- Marks the queue as a fair lock's, and keeps it for at least ttl_ms.
local function extend_fair_queue(line, ttl_ms)
  redis.call('zadd', line, 0, 'fair')
  if redis.call('pttl', line) < ttl_ms + QUEUE_SLACK_MS then set_ttl(line, ttl_ms + QUEUE_SLACK_MS) end
end

local function join_fair_queue(line, mode, owner, number)
  redis.call('zadd', line, string.format('%.0f', number), mode .. ':' .. owner)
  if mode == 'write' then redis.call('zadd', line, string.format('%.0f', -number), 'writer:' .. owner) end
end

local function leave_fair_queue(line, alive, waiter)
  redis.call('zrem', alive, waiter)
  local writer = string.match(waiter, '^write:(.*)$')
  if writer then redis.call('zrem', line, 'writer:' .. writer) end
  return redis.call('zrem', line, waiter) == 1
end

-- Returns the time (ms) left of a place; 0 if it has ended.
local function place_left_ms(alive, waiter, now)
  return math.max(tonumber(redis.call('zscore', alive, waiter) or 0) - now, 0)
end

-- Returns the rank of the first waiter.
local function first_waiter_rank(line)
  return (redis.call('zrank', line, 'fair') or 0) + 1
end

-- Calls `is_enough` for each live waiter from a rank on until that returns true. `me` always counts as
-- live. Removes ended places, and returns whether there were any.
local function visit_live_waiters(line, alive, rank, me, is_enough)
  local met_dead, now = false, now_ms()
  while true do
    local waiters = redis.call('zrange', line, rank, rank + PAGE - 1)
    for at = 1, #waiters do
      if waiters[at] ~= me and place_left_ms(alive, waiters[at], now) == 0 then
        local first = first_waiter_rank(line)
        leave_fair_queue(line, alive, waiters[at])
        -- A writer's second member, before `fair`, is gone too.
        rank = rank + first_waiter_rank(line) - first
        met_dead = true
      else
        rank = rank + 1
        if is_enough(waiters[at]) then return met_dead end
      end
    end
    if #waiters < PAGE then return met_dead end
  end
end

local function is_reader(waiter)
  return string.sub(waiter, 1, 5) == 'read:'
end

-- Returns whether a live writer is before `me`, or anywhere if `me` is not in the queue; and whether
-- ended places were removed.
local function live_writer_before(line, alive, me)
  local number, met_dead, now = tonumber(redis.call('zscore', line, me)), false, now_ms()
  while true do
    local rank = redis.call('zrank', line, 'fair') or 0
    if rank == 0 then return false, met_dead end
    local first, negated = unpack(redis.call('zrange', line, rank - 1, rank - 1, 'withscores'))
    if number and -negated > number then return false, met_dead end
    local writer = 'write:' .. string.match(first, ':(.*)$')
    if place_left_ms(alive, writer, now) > 0 then return true, met_dead end
    leave_fair_queue(line, alive, writer)
    met_dead = true
  end
end

-- Returns the time (ms) left of the place right before `me`, or of the last place if `me` is not in the
-- queue; nil if there is none. Removes ended places.
local function place_before_left_ms(line, alive, me)
  while true do
    local rank = redis.call('zrank', line, me) or redis.call('zcard', line)
    if rank <= first_waiter_rank(line) then return nil end
    local before = redis.call('zrange', line, rank - 1, rank - 1)[1]
    local left_ms = place_left_ms(alive, before, now_ms())
    if left_ms > 0 then return left_ms end
    leave_fair_queue(line, alive, before)
  end
end

local function wake_waiter(turn, waiter)
  publish(turn .. string.match(waiter, ':.*$'), '1')
end

-- Wakes the waiter at a rank if it is a reader.
local function wake_reader_at(line, alive, turn, rank)
  visit_live_waiters(line, alive, rank, nil, function(waiter)
    if is_reader(waiter) then wake_waiter(turn, waiter) end
    return true
  end)
end

-- Wakes the waiters that may enter now: the first writer, or the readers before it. Above MOST_WOKEN
-- readers, each reader that enters wakes the next.
local function wake_admissible(mode, line, alive, turn)
  if mode == 'write' then return end
  local woken = 0
  visit_live_waiters(line, alive, first_waiter_rank(line), nil, function(waiter)
    local reads = is_reader(waiter)
    if not reads and (mode == 'read' or woken > 0) then return true end
    wake_waiter(turn, waiter)
    woken = woken + 1
    return not reads or woken == MOST_WOKEN
  end)
end

