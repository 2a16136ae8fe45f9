-- lib/readers: the read owners of a lock but `own`: the longest time (ms) that any of them still
-- has, how many live, the fields of those whose time is over, and whether all were looked at (a
-- scan is capped, so that no crowd of readers can hold up the server).
local MOST_READERS, MOST_COUNT = 1024, 1000000 -- a larger count is nobody's, and would never end

-- What an owner's read holds still have, at most; below 0 when its time is over.
local function reading_ms(lock, tag, owner, holds)
  local remaining = -2
  for hold = holds, 1, -1 do
    local left = redis.call('pttl', tag .. ':' .. owner .. ':rwlock_timeout:' .. hold)
    if left == -1 then left = math.max(redis.call('pttl', lock), 1) end
    remaining = math.max(remaining, left)
  end
  return remaining
end

-- Fields and values in turn, and whether these are all.
local function fields_of(lock)
  if redis.call('hlen', lock) <= MOST_READERS then return redis.call('hgetall', lock), true end
  return redis.call('hscan', lock, '0', 'count', MOST_READERS)[2], false
end

-- The number of an owner's read holds that a field tells of; nil for any other field.
local function reads_in(owner, value)
  local holds = tonumber(value)
  if owner ~= 'mode' and holds and holds <= MOST_COUNT and string.sub(owner, -6) ~= ':write' then return holds end
end

local function readers(lock, tag, own)
  local fields, complete = fields_of(lock)
  local longest, live, dead = 0, 0, {}
  for at = 1, #fields, 2 do
    local owner = fields[at]
    local holds = reads_in(owner, fields[at + 1])
    if holds and owner ~= own then
      local remaining = reading_ms(lock, tag, owner, holds)
      if remaining >= 0 then
        live, longest = live + 1, math.max(longest, remaining)
      else
        dead[#dead + 1] = owner
      end
    end
  end
  return longest, live, dead, complete
end

