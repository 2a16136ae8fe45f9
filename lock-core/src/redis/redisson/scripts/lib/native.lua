-- lib/native: a lock of the native wire under the same name. It counts as held by another, and its waiters
-- are not seen: each wire has a line of its own. A release there wakes no waiter here, so the first one
-- polls.

-- Whether such a lock of one of these kinds is there; `kinds` has their letters.
local function is_held_natively(lock, kinds)
  local value, kind = redis.pcall('get', lock), nil
  if type(value) == 'table' then
    local first = redis.pcall('zrange', lock, 0, 0)
    kind = not first.err and string.match(first[1] or '', '^#kind:(%a)$')
  elseif value then
    kind = string.match(value, '^lt[12](%a)[rw%-]')
  end
  return kind and string.find(kinds, kind, 1, true) ~= nil
end

-- The name of the native waiters' places, from that of any other key beside the lock. It is no argument,
-- because few calls need it and each argument costs.
local function native_places(beside)
  return (string.gsub(beside, '^[^:]*', 'lock_places'))
end

-- Returns the time (ms) after which a waiter tries again, and requests that the native clients leave the
-- lock free now and then.
local function wait_beside_native(lock, beside, is_first, place_ms)
  if place_ms > 0 then pcall(request_pauses, native_places(beside), '#native', place_ms) end
  local left_ms = redis.call('pttl', lock)
  return is_first and place_ms > 0 and math.min(left_ms, POLL_MS) or left_ms
end

-- Returns the time (ms) for which clients of this wire leave a free lock to native waiters; nil for none.
local function left_to_native_ms(beside)
  return pause_left_ms(native_places(beside), '#redisson', true)
end

-- The answer to a caller that a native lock with readers and writers keeps out.
local function busy_natively(lock, line, me, holds, waited_ms, place_ms, nonce)
  if holds > 1 then return {'LOST', nonce} end
  local waiters = waiters_in(line)
  if waiters.fair then return {'WRONG_KIND', nonce} end
  local left_ms = wait_beside_native(lock, line, rank_of(waiters, me, waited_ms) == 0, place_ms)
  return {'BUSY', nonce, left_ms, take_place(line, waiters, me, waited_ms, place_ms)}
end

