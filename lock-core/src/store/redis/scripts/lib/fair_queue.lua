-- lib/fair_queue: the waiters of a fair read/write lock, `mode:owner`, in order of arrival. Each place
-- lives until a time that its waiter puts off; a step that meets a dead one takes it away. A member of
-- the line's own, `fair`, stands before them all while the lock is held or waited for, so that clients
-- of the plain kind find another kind under the name of their line. Before that stands each writer once
-- more, `writer:owner` with its number negated: the one right before `fair` is the first of them, so a
-- reader need not look at the readers before it to find out whether a writer is among them.
local LINE_SLACK_MS = 1000 -- the line never ends before its lock, whose time is set by another step
local LOOKED_AT, MOST_CALLED = 16, 100

-- Whether a line stands; nil when something else does.
local function line_stands(line, alive)
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

-- Lets the line stand for as long as what it stands for.
local function keep_line(line, ttl_ms)
  redis.call('zadd', line, 0, 'fair')
  if redis.call('pttl', line) < ttl_ms + LINE_SLACK_MS then set_ttl(line, ttl_ms + LINE_SLACK_MS) end
end

local function enter_line(line, mode, owner, number)
  redis.call('zadd', line, string.format('%.0f', number), mode .. ':' .. owner)
  if mode == 'write' then redis.call('zadd', line, string.format('%.0f', -number), 'writer:' .. owner) end
end

local function leave_line(line, alive, waiter)
  redis.call('zrem', alive, waiter)
  local writer = string.match(waiter, '^write:(.*)$')
  if writer then redis.call('zrem', line, 'writer:' .. writer) end
  return redis.call('zrem', line, waiter) == 1
end

-- How long a place in line still lives, 0 for a dead one.
local function place_left(alive, waiter, now)
  return math.max(tonumber(redis.call('zscore', alive, waiter) or 0) - now, 0)
end

-- The rank of the first waiter.
local function first_rank(line)
  return (redis.call('zrank', line, 'fair') or 0) + 1
end

-- Shows the living from a rank on until `is_enough` says so; `me` lives in any case. Says whether it
-- has met dead ones.
local function walk_line(line, alive, rank, me, is_enough)
  local met_dead, now = false, now_ms()
  while true do
    local waiters = redis.call('zrange', line, rank, rank + LOOKED_AT - 1)
    for at = 1, #waiters do
      if waiters[at] ~= me and place_left(alive, waiters[at], now) == 0 then
        local first = first_rank(line)
        leave_line(line, alive, waiters[at])
        -- A writer stood before `fair` too.
        rank = rank + first_rank(line) - first
        met_dead = true
      else
        rank = rank + 1
        if is_enough(waiters[at]) then return met_dead end
      end
    end
    if #waiters < LOOKED_AT then return met_dead end
  end
end

local function is_reader(waiter)
  return string.sub(waiter, 1, 5) == 'read:'
end

-- Whether a living writer stands before a waiter, or at all if that one does not stand in line; and
-- whether dead ones were met.
local function writer_before(line, alive, me)
  local number, met_dead, now = tonumber(redis.call('zscore', line, me)), false, now_ms()
  while true do
    local rank = redis.call('zrank', line, 'fair') or 0
    if rank == 0 then return false, met_dead end
    local first, negated = unpack(redis.call('zrange', line, rank - 1, rank - 1, 'withscores'))
    if number and -negated > number then return false, met_dead end
    local writer = 'write:' .. string.match(first, ':(.*)$')
    if place_left(alive, writer, now) > 0 then return true, met_dead end
    leave_line(line, alive, writer)
    met_dead = true
  end
end

-- How long the place right before a waiter, or the last one, still lives; nil if there is none. Takes
-- away the dead.
local function place_before(line, alive, me)
  while true do
    local rank = redis.call('zrank', line, me) or redis.call('zcard', line)
    if rank <= first_rank(line) then return nil end
    local before = redis.call('zrange', line, rank - 1, rank - 1)[1]
    local left_ms = place_left(alive, before, now_ms())
    if left_ms > 0 then return left_ms end
    leave_line(line, alive, before)
  end
end

local function call_waiter(turn, waiter)
  publish(turn .. string.match(waiter, ':.*$'), '1')
end

-- Calls the reader that stands at a rank, if one does.
local function call_reader_at(line, alive, turn, rank)
  walk_line(line, alive, rank, nil, function(waiter)
    if is_reader(waiter) then call_waiter(turn, waiter) end
    return true
  end)
end

-- Calls those who could enter now: the first writer, or the readers before it. Beyond some of them
-- each reader that enters calls the next.
local function call_next(mode, line, alive, turn)
  if mode == 'write' then return end
  local called = 0
  walk_line(line, alive, first_rank(line), nil, function(waiter)
    local reads = is_reader(waiter)
    if not reads and (mode == 'read' or called > 0) then return true end
    call_waiter(turn, waiter)
    called = called + 1
    return not reads or called == MOST_CALLED
  end)
end

