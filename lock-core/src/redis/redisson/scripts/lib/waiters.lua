-- lib/waiters: the waiters of a lock that is not of a fair kind, as a hash: `mode:owner` ->
-- `since:until` (epoch ms), or `since:until:permits` if it wants several permits at once. The waiter that has waited longest is first; a reader waits behind earlier
-- writers, a writer behind all earlier waiters. A place is short-lived, and its waiter renews it.
--
-- A lock that becomes free is reserved: the places of the next waiters are shortened to RESERVED_MS, and
-- only they are woken. Until these places end, no client of this library that has waited for a shorter
-- time takes the lock. A waiter that does not retry in time loses its place. A waiter that has waited
-- longer may take the lock even after its own place has ended; otherwise no waiter could ever enter
-- over a connection that is slower than RESERVED_MS. A message is only a hint: the waiter's next
-- attempt relies on the place alone.
--
-- The fair read/write lock keeps its queue under the same name, as a sorted set. If that exists, the
-- lock is of the fair kind.
local RESERVED_MS, MOST_WAITERS = 50, 64

-- Returns the live waiters in order, each also by its name, and the names whose place is `over`.
-- `fair`: the key is the queue of a fair lock. `foreign`: the key is that, or not a line at all, so no
-- place can be taken.
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
    local permits
    if not since then since, ends, permits = string.match(fields[at + 1], '^(%d+):(%d+):(%d+)$') end
    local mode = string.match(name, '^(%a+):.')
    if since and tonumber(ends) <= now_ms() then
      table.insert(waiters.over, name)
    elseif since and (mode == 'read' or mode == 'write') then
      local waiter = {name = name, reads = mode == 'read', since = tonumber(since), ends = tonumber(ends)}
      waiter.permits = tonumber(permits or 1)
      waiters[#waiters + 1], waiters[name] = waiter, waiter
    end
  end
  table.sort(waiters, function(one, other) return one.since < other.since end)
  return waiters
end

local function store_place(line, name, since, ends, permits)
  local place = string.format('%.0f:%.0f', since, ends)
  if permits > 1 then place = place .. string.format(':%.0f', permits) end
  redis.call('hset', line, name, place)
end

-- Returns the time since which a caller waits. If the stored time lies in the future, by more than
-- take_place separates equal times, Redis' clock was set back; then the caller's own figure counts.
local function since_of(own, waited_ms)
  if own and own.since <= now_ms() + MOST_WAITERS then return own.since end
  return now_ms() - waited_ms
end

-- Takes a place or renews it. Returns 1 if the caller has a place now, otherwise 0. Of two waiters with
-- equal times, the one already in line is first. A full line keeps the longest waiters.
local function take_place(line, waiters, me, waited_ms, place_ms, permits)
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
  store_place(line, me, since, now_ms() + place_ms, permits or 1)
  if redis.call('pttl', line) < place_ms then set_ttl(line, place_ms) end
  return 1
end

-- Removes the place of an owner that was granted the lock, and places that are over.
local function leave_granted(line, waiters, me)
  if waiters[me] then table.insert(waiters.over, me) end
  if waiters.over and #waiters.over > 0 then redis.call('hdel', line, unpack(waiters.over)) end
end

-- Returns the number of waiters that have waited longer.
local function rank_of(waiters, me, waited_ms)
  local own = waiters[me]
  local since = since_of(own, waited_ms)
  for at, waiter in ipairs(waiters) do
    if waiter == own or waiter.since > since then return at - 1 end
  end
  return #waiters
end

-- Returns how many permits the waiters want that have waited longer.
local function wanted_ahead_of(waiters, me, waited_ms)
  local wanted = 0
  for at = 1, rank_of(waiters, me, waited_ms) do wanted = wanted + waiters[at].permits end
  return wanted
end

-- Returns the first waiter that must enter before `me`: it has waited longer, and one of the two writes.
local function first_ahead_of(waiters, me, waited_ms)
  local reads = string.sub(me, 1, 5) == 'read:'
  for at = 1, rank_of(waiters, me, waited_ms) do
    if not (reads and waiters[at].reads) then return waiters[at] end
  end
end

local function left_ms_of(waiter)
  return waiter.ends - now_ms()
end

local function is_reserved(waiter)
  return left_ms_of(waiter) <= RESERVED_MS
end

-- Returns how many waiters may enter a lock that is free or read-locked: the first, if it is a writer
-- and the lock is free, otherwise all readers before the next writer.
local function count_next(waiters, is_free)
  if is_free and waiters[1] and not waiters[1].reads then return 1 end
  local readers = 0
  while waiters[readers + 1] and waiters[readers + 1].reads do readers = readers + 1 end
  return readers
end

-- How many clients received what was published, in a cluster on this node. See lib/publish.
local function received_by(published, sharded)
  local received = sharded or published
  return type(received) == 'number' and received or 0
end

-- Reserves the lock for the first `count` waiters, and wakes them. Each message has leading zeros; their
-- number is derived from both ends of the owner's name: the counts at its end grow in step in processes
-- that take turns, so without its client's part their waiters would all retry. Redisson parses the same
-- number as without them; of this library's waiters, only those with that number retry. Without a waiter in line, the plain
-- message wakes all subscribers: Redisson's clients, and waiters for which there was no place. Returns how
-- many clients received a message.
local function reserve_and_wake(line, waiters, count, channel, message)
  local received = count == 0 and received_by(publish(channel, message)) or 0
  for at = 1, count do
    local waiter = waiters[at]
    if not is_reserved(waiter) then store_place(line, waiter.name, waiter.since, now_ms() + RESERVED_MS, waiter.permits) end
    local first, tens, ones = string.byte(waiter.name, waiter.reads and 6 or 7), string.byte(waiter.name, -2, -1)
    received = received_by(publish(channel, string.rep('0', (first + 10 * tens + ones) % 32 + 1) .. message))
  end
  return received
end

-- Reserves a lock that is free or read-locked for the next waiters. Returns how many clients received a
-- message that have no place in line: Redisson's waiters, and clients of this library that have waited just
-- now, perhaps the owner's. Nil if there are none.
local function reserve_for_next(line, is_free, channel, message)
  local waiters = waiters_in(line)
  local received = reserve_and_wake(line, waiters, count_next(waiters, is_free), channel, message)
  local counted = {}
  for _, waiter in ipairs(waiters) do
    local client = string.match(waiter.name, '^%a+:([^:]*)')
    if not counted[client] then counted[client], received = true, received - 1 end
  end
  if received > 0 then return received end
end

-- Reserves the free permits of a semaphore for the next waiters, in order: one that wants more than
-- there are is not passed by those behind it.
local function reserve_permits(line, free, channel)
  local waiters, count, left = waiters_in(line), 0, free
  while waiters[count + 1] and waiters[count + 1].permits <= left do
    count = count + 1
    left = left - waiters[count].permits
  end
  reserve_and_wake(line, waiters, count, channel, string.format('%.0f', free))
end

-- Removes a waiter's place and its reservation. If the remaining waiters can enter now, wakes the next
-- ones. A key that is not a lock counts as free: the woken waiter gets the error.
local function give_up_place(lock, line, me, channel, message)
  if redis.pcall('hdel', line, me) ~= 1 then return end
  local mode = redis.pcall('hget', lock, 'mode')
  local is_free = type(mode) == 'table' or redis.call('exists', lock) == 0
  if not is_free and mode ~= 'read' then return end
  local waiters = waiters_in(line)
  local count = count_next(waiters, is_free)
  if count > 0 or #waiters == 0 then reserve_and_wake(line, waiters, count, channel, message) end
end

