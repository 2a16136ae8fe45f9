-- lib/waiters: those that wait for a lock without a fair line, as a hash: `mode:owner` ->
-- `since:until` (epoch ms). The one that has waited longest is first; a reader waits behind the
-- writers that came before it, a writer behind everybody. A place is short-lived, and its waiter
-- renews it.
--
-- A lock that becomes free is reserved: the places of those that are next are cut down to RESERVED_MS,
-- and they alone are woken. No client of ours that has waited less takes the lock before these places
-- are over, and a waiter that does not come in time has lost its place. One that has waited longer, and
-- comes too late for its own, may: over a link that is slower than RESERVED_MS none would get in else.
-- A message is a hint: what counts is the place, which the waiter's next try finds.
--
-- The fair read/write lock keeps its own line under the same name, as a sorted set: where one stands,
-- the lock is of that kind.
local RESERVED_MS, MOST_WAITERS = 50, 64

-- The living in order, each also by its name, and the names of those whose place is `over`. `fair`: a
-- fair line stands there. `foreign`: that, or something that is no line; no place can be taken.
local function waiters_in(line)
  local fields = redis.pcall('hgetall', line)
  if fields.err then
    local places = redis.pcall('zcard', line)
    return {foreign = true, fair = type(places) == 'number' and places > 0}
  end
  local waiters = {over = {}, foreign = #fields > 0 and redis.call('pttl', line) == -1}
  if waiters.foreign then return waiters end
  for at = 1, #fields, 2 do
    local name, since, ends = fields[at], string.match(fields[at + 1], '^(%d+):(%d+)$')
    local mode = string.match(name, '^(%a+):.')
    if since and tonumber(ends) <= now_ms() then
      table.insert(waiters.over, name)
    elseif since and (mode == 'read' or mode == 'write') then
      local waiter = {name = name, reads = mode == 'read', since = tonumber(since), ends = tonumber(ends)}
      waiters[#waiters + 1], waiters[name] = waiter, waiter
    end
  end
  table.sort(waiters, function(one, other) return one.since < other.since end)
  return waiters
end

local function keep_place(line, name, since, ends)
  redis.call('hset', line, name, string.format('%.0f:%.0f', since, ends))
end

-- Since when a caller waits: a waiter, since it came. Where that is yet to be, by more than places are set
-- apart below, Redis' clock was set back, and what the waiter says counts.
local function since_of(own, waited_ms)
  if own and own.since <= now_ms() + MOST_WAITERS then return own.since end
  return now_ms() - waited_ms
end

-- Takes a place, or renews it; says whether it stands. Of two that have waited equally long the one that
-- stands already is first. A full line keeps those that have waited longest.
local function stand(line, waiters, me, waited_ms, place_ms)
  if place_ms == 0 or waiters.foreign then return 0 end
  local own, last = waiters[me], waiters[#waiters]
  local since = since_of(own, waited_ms)
  if not own and #waiters >= MOST_WAITERS then
    if last.since <= since then return 0 end
    table.insert(waiters.over, last.name)
  end
  for _, waiter in ipairs(waiters) do
    if waiter ~= own and waiter.since == since then since = since + 1 end
  end
  if #waiters.over > 0 then redis.call('hdel', line, unpack(waiters.over)) end
  keep_place(line, me, since, now_ms() + place_ms)
  if redis.call('pttl', line) < place_ms then set_ttl(line, place_ms) end
  return 1
end

-- One that is granted the lock leaves the line, and so do places that are over, its own perhaps.
local function enter(line, waiters, me)
  if waiters[me] then table.insert(waiters.over, me) end
  if waiters.over and #waiters.over > 0 then redis.call('hdel', line, unpack(waiters.over)) end
end

-- How many have waited longer.
local function rank_of(waiters, me, waited_ms)
  local own = waiters[me]
  local since = since_of(own, waited_ms)
  for at, waiter in ipairs(waiters) do
    if waiter == own or waiter.since > since then return at - 1 end
  end
  return #waiters
end

-- The first of those that a waiter must let pass: they have waited longer, and it or they write.
local function ahead_of(waiters, me, waited_ms)
  local reads = string.sub(me, 1, 5) == 'read:'
  for at = 1, rank_of(waiters, me, waited_ms) do
    if not (reads and waiters[at].reads) then return waiters[at] end
  end
end

local function left_of(waiter)
  return waiter.ends - now_ms()
end

local function is_reserved(waiter)
  return left_of(waiter) <= RESERVED_MS
end

-- How many are next at a lock that is free, or that only readers hold: the first, if it writes, or all
-- readers before the next writer.
local function next_in(waiters, is_free)
  if is_free and waiters[1] and not waiters[1].reads then return 1 end
  local readers = 0
  while waiters[readers + 1] and waiters[readers + 1].reads do readers = readers + 1 end
  return readers
end

-- Reserves for the first so many, and wakes them: each by the message with as many zeros before it as
-- the end of its owner's name counts. Redisson reads the same number as without them; of ours only the
-- waiters that count the same try. Without any waiter all that listen are told: Redisson's, and ours
-- for which there was no place.
local function wake_first(line, waiters, count, channel, message)
  if count == 0 then publish(channel, message) end
  for at = 1, count do
    local waiter = waiters[at]
    if not is_reserved(waiter) then keep_place(line, waiter.name, waiter.since, now_ms() + RESERVED_MS) end
    local tens, ones = string.byte(waiter.name, -2, -1)
    publish(channel, string.rep('0', (10 * tens + ones) % 32 + 1) .. message)
  end
end

-- A lock that is free, or that only readers hold, goes to those that are next.
local function pass_on(line, is_free, channel, message)
  local waiters = waiters_in(line)
  wake_first(line, waiters, next_in(waiters, is_free), channel, message)
end

-- So many free permits of a semaphore go to those that are next.
local function pass_on_permits(line, free, channel)
  local waiters = waiters_in(line)
  wake_first(line, waiters, math.min(free, #waiters), channel, string.format('%.0f', free))
end

-- A waiter gives up its place, and what was reserved for it. What is no lock is in the way of nobody
-- either: the next waiter finds that out. Where all that stay must wait still, none is woken.
local function leave(lock, line, me, channel, message)
  if redis.pcall('hdel', line, me) ~= 1 then return end
  local mode = redis.pcall('hget', lock, 'mode')
  local is_free = type(mode) == 'table' or redis.call('exists', lock) == 0
  if not is_free and mode ~= 'read' then return end
  local waiters = waiters_in(line)
  local count = next_in(waiters, is_free)
  if count > 0 or #waiters == 0 then wake_first(line, waiters, count, channel, message) end
end

