-- lib/readers: the read owners of a lock, except `own`: the longest time left (ms), the number of live
-- ones, the fields of those whose time is over, and whether the list is complete (the scan is limited,
-- so that many readers cannot block the server).

-- A larger count is not a client's; the loop over it would block.
local MOST_READERS, MOST_COUNT = 1024, 1000000

-- Returns the longest time (ms) left of an owner's read holds; below 0 when all have ended.
local function read_left_ms(lock, tag, owner, holds)
  local remaining = -2
  for hold = holds, 1, -1 do
    local left = redis.call('pttl', tag .. ':' .. owner .. ':rwlock_timeout:' .. hold)
    if left == -1 then left = math.max(redis.call('pttl', lock), 1) end
    remaining = math.max(remaining, left)
  end
  return remaining
end

-- Returns fields and values alternately, and whether the list is complete.
local function all_fields(lock)
  if redis.call('hlen', lock) <= MOST_READERS then return redis.call('hgetall', lock), true end
  return redis.call('hscan', lock, '0', 'count', MOST_READERS)[2], false
end

-- Returns the number of an owner's read holds in a field; nil for any other field.
local function read_count(owner, value)
  local holds = tonumber(value)
  if owner ~= 'mode' and holds and holds <= MOST_COUNT and string.sub(owner, -6) ~= ':write' then return holds end
end

local function other_readers(lock, tag, own)
  local fields, complete = all_fields(lock)
  local longest, live, dead = 0, 0, {}
  for at = 1, #fields, 2 do
    local owner = fields[at]
    local holds = read_count(owner, fields[at + 1])
    if holds and owner ~= own then
      local remaining = read_left_ms(lock, tag, owner, holds)
      if remaining >= 0 then
        live, longest = live + 1, math.max(longest, remaining)
      else
        dead[#dead + 1] = owner
      end
    end
  end
  return longest, live, dead, complete
end

