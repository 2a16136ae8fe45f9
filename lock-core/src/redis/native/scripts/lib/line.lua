-- lib/line: the waiters of a lock, in order of arrival; of a semaphore in the order of how long they have waited,
-- by Redis' clock (us). A place is `r:<owner>` or `w:<owner>`. A short line of a kind that is not fair is in the
-- lock's value: see lib/short_line. Of any other, the sorted set `line` has the number of arrival of each place,
-- of a semaphore since when it has waited, and of a place that writes once more as `-w:<owner>` with that number
-- negated: so the writer that is next before a reader is found without the readers between them. `ends` has
-- the time (epoch ms) until which the place lives unless its waiter renews it. Of a semaphore it has `*<place>`
-- too, with the permits that there are in the waiter's own number times PACKED, and those that it wants. This
-- is negated, so it is less than any time.
--
-- A lock that becomes free is reserved for the waiters that are next: no other caller passes a live
-- place. For kinds that are not fair the reserved places are cut down to RESERVED_MS, so a waiter that
-- does not come holds the others back no longer than that. A message is a hint; what counts is the place.
local MOST_WOKEN, PACKED = 100, 2 ^ 20

local function is_fair(kind)
  return kind == 'f' or kind == 'q'
end

local function is_reader(place)
  return string.sub(place, 1, 2) == 'r:'
end

local function place_of(mode, owner)
  return string.sub(mode, 1, 1) .. ':' .. owner
end

-- Returns whether the waiter was there.
local function leave_line(s, place)
  if not s.waited then return false end
  if s.places then
    local at = at_place(s, place)
    if at then table.remove(s.places, at) end
    return at ~= nil
  end
  redis.call('zrem', s.ends, place, '*' .. place)
  return redis.call('zrem', s.line, place, '-' .. place) > 0
end

-- Removes places whose time is over, but the caller's own: one that comes back late keeps its place if no
-- other has missed it. Returns whether there were any.
local function drop_dead(s, own)
  local met = false
  if not s.waited then return met end
  for at = s.places and #s.places or 0, 1, -1 do
    local place, ends = unpack(s.places[at])
    if place ~= own and ends <= now_ms() then met = leave_line(s, place) end
  end
  if s.places then return met end
  for _, place in ipairs(redis.call('zrangebyscore', s.ends, '(0', string.format('%.0f', now_ms()))) do
    if place ~= own then met = leave_line(s, place) or met end
  end
  return met
end

local function first_places(s, count)
  if s.places then
    local first = {}
    for at = 1, math.min(count, #s.places) do first[at] = s.places[at][1] end
    return first
  end
  return redis.call('zrangebyscore', s.line, 0, '+inf', 'limit', 0, count)
end

local function left_of(s, place)
  if s.places then return s.places[at_place(s, place)][2] - now_ms() end
  return tonumber(redis.call('zscore', s.ends, place) or 0) - now_ms()
end

-- The place that a caller must let pass: a reader the first writer before it, a writer the first of all.
local function place_ahead(s, own)
  if not s.waited then return nil end
  local first = first_places(s, 1)[1]
  if not first or first == own or not is_reader(own) then return first ~= own and first or nil end
  for _, one in ipairs(s.places or {}) do
    if one[1] == own then return nil end
    if not is_reader(one[1]) then return one[1] end
  end
  if s.places then return nil end
  local writer, negated = unpack(redis.call('zrevrangebyscore', s.line, '(0', '-inf', 'withscores', 'limit', 0, 1))
  if not writer then return nil end
  local number = tonumber(redis.call('zscore', s.line, own))
  if number and -negated > number then return nil end
  return string.sub(writer, 2)
end

-- How many permits the waiter at a place wants, and how many there are in its own number.
local function wanted_at(s, place)
  local packed = -tonumber(redis.call('zscore', s.ends, '*' .. place) or -1)
  return packed % PACKED, math.floor(packed / PACKED)
end

-- The number of a caller without a place in the line of a semaphore: behind all that have waited for as long. By the
-- order of arrival, callers of two semaphores would be behind each other at both, in turns: each that one of them
-- refuses would go to the end of its line, and permits of both would stay free.
local function number_by_age(s, own)
  if not s.waited_since or redis.call('zscore', s.line, own) then return nil end
  local number = s.waited_since
  while true do
    local text = string.format('%.0f', number)
    if redis.call('zcount', s.line, text, text) == 0 then return number end
    number = number + 1
  end
end

-- How many of so many free permits are for waiters before the caller: all of them, if those want more.
local function wanted_ahead(s, own, free)
  local wanted, number = 0, s.waited and number_by_age(s, own)
  for _, place in ipairs(s.waited and first_places(s, free) or {}) do
    if place == own or wanted >= free then break end
    if number and tonumber(redis.call('zscore', s.line, place)) > number then break end
    wanted = wanted + (wanted_at(s, place))
  end
  return wanted
end

-- How many are between the first and a writer. When the first does not come in time, the one behind it tries,
-- and each other one reservation later: of many waiters that all tried then, only one could be granted.
local function count_between(s, own)
  if s.places then return math.max(at_place(s, own) - 2, 0) end
  return math.max(redis.call('zcount', s.line, 0, '(' .. redis.call('zscore', s.line, own)) - 1, 0)
end

-- Takes a place, or renews the one that is there. Returns 1 if the caller has a place.
local function stand(s, own, place_ms, wanted, total)
  if place_ms == 0 then return 0 end
  if not s.waited and not s.other_ms and has_short_line(s) then s.places = {} end
  if s.places then
    s.places[at_place(s, own) or #s.places + 1] = {own, now_ms() + place_ms}
    s.waited = true
    return 1
  end
  if not redis.call('zscore', s.line, own) then
    local last = tonumber(redis.call('zrevrange', s.line, 0, 0, 'withscores')[2] or 0)
    local number = string.format('%.0f', number_by_age(s, own) or math.max(last + 1, (now_us())))
    redis.call('zadd', s.line, number, own)
    if not is_reader(own) then redis.call('zadd', s.line, '-' .. number, '-' .. own) end
  end
  redis.call('zadd', s.ends, now_ms() + place_ms, own)
  if s.kind == 's' then redis.call('zadd', s.ends, string.format('-%.0f', total * PACKED + wanted), '*' .. own) end
  for _, key in ipairs({s.line, s.ends}) do
    if redis.call('pttl', key) < place_ms then redis.call('pexpire', key, place_ms) end
  end
  s.waited = true
  return 1
end

-- Wakes one waiter, once the lock is written: on its client's channel of this lock, by a message with as many zeros as the end of
-- its owner's name counts; of its process only the waiters that count the same try.
local function wake(s, place)
  if s.places then
    local one = s.places[at_place(s, place)]
    one[2] = math.min(one[2], now_ms() + RESERVED_MS)
  elseif not is_fair(s.kind) and left_of(s, place) > RESERVED_MS then
    redis.call('zadd', s.ends, now_ms() + RESERVED_MS, place)
  end
  local tens, ones = string.byte(place, -2, -1)
  local channel = string.gsub(s.line, '^lock_line', 'lock_wake') .. ':' .. string.match(place, '^%a:([^:]*)')
  s.messages[#s.messages + 1] = {channel, string.rep('0', (10 * tens + ones) % 32 + 1) .. '1'}
end

local function wake_readers(s)
  for _, place in ipairs(first_places(s, MOST_WOKEN)) do
    if not is_reader(place) then return end
    wake(s, place)
  end
end

-- A reader that has left the line to enter wakes the reader behind it, if none has yet.
local function wake_reader_behind(s)
  local first = first_places(s, 1)[1]
  if first and is_reader(first) and left_of(s, first) > RESERVED_MS then wake(s, first) end
end

-- Reserves the lock for the waiters that are next, and wakes them: the first, if it writes, or all readers
-- before the next writer; of a semaphore as many as fit.
local function wake_next(s)
  if not s.waited or s.writes > 0 or s.other_ms then return end
  -- A place that is over would be woken in vain, and those behind it left asleep.
  drop_dead(s)
  local holders = count_holders(s)
  if s.kind == 's' then
    -- In order: a waiter that wants more permits than are free is not passed by those behind it. One of those
    -- that counts more permits, as in a rolling deploy, finds out by polling.
    local first = first_places(s, 1)[1]
    local most = first and select(2, wanted_at(s, first)) or 0
    for _, place in ipairs(most > holders and first_places(s, most - holders) or {}) do
      local wanted, total = wanted_at(s, place)
      holders = holders + wanted
      if holders > total then return end
      wake(s, place)
    end
    return
  end
  local first = first_places(s, 1)[1]
  if not first then return end
  if is_reader(first) then wake_readers(s) elseif holders == 0 then wake(s, first) end
end

