-- shared/line: those who wait for a fair read/write lock, `mode:owner`, in order of arrival. Each
-- place lives until a time that its waiter puts off; whoever meets a dead one takes it away. A
-- member of the line's own stands before them all while the lock is held or waited for, so that
-- clients of the plain kind find another kind under the name of their line.
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
  if redis.call('pttl', line) < ttl_ms + LINE_SLACK_MS then end_in(line, ttl_ms + LINE_SLACK_MS) end
end

local function leave_line(line, alive, waiter)
  redis.call('zrem', alive, waiter)
  return redis.call('zrem', line, waiter) == 1
end

-- How long a place in line still lives, 0 for a dead one.
local function place_left(alive, waiter, now)
  return math.max(tonumber(redis.call('zscore', alive, waiter) or 0) - now, 0)
end

-- Shows the living from a rank on (the first waiter's is 1) until `is_enough` says so; `me` lives in
-- any case. Says whether it has met dead ones.
local function walk_line(line, alive, rank, me, is_enough)
  local met_dead, now = false, now_ms()
  while true do
    local waiters = redis.call('zrange', line, rank, rank + LOOKED_AT - 1)
    for at = 1, #waiters do
      if waiters[at] ~= me and place_left(alive, waiters[at], now) == 0 then
        leave_line(line, alive, waiters[at])
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

local function call_waiter(turn, waiter)
  tell(turn .. string.match(waiter, ':.*$'), '1')
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
  walk_line(line, alive, 1, nil, function(waiter)
    local reads = is_reader(waiter)
    if not reads and (mode == 'read' or called > 0) then return true end
    call_waiter(turn, waiter)
    called = called + 1
    return not reads or called == MOST_CALLED
  end)
end

