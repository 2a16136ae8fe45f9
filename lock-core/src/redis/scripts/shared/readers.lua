-- shared/readers: the read owners of a lock but `own`: the longest time (ms) that any of them still
-- has, how many live, the fields of those whose time is over, and whether all were looked at (a
-- scan is capped, so that no crowd of readers can hold up the server).
local MOST_READERS, MOST_COUNT = 1024, 1000000 -- a larger count is nobody's, and would never end
local function readers(lock, tag, own)
  local complete = redis.call('hlen', lock) <= MOST_READERS
  local fields = complete and redis.call('hgetall', lock)
    or redis.call('hscan', lock, '0', 'count', MOST_READERS)[2]
  local longest, live, dead = 0, 0, {}
  for at = 1, #fields, 2 do
    local owner, holds = fields[at], tonumber(fields[at + 1])
    if owner ~= 'mode' and owner ~= own and holds and holds <= MOST_COUNT and string.sub(owner, -6) ~= ':write' then
      local remaining = -2
      for hold = holds, 1, -1 do
        local left = redis.call('pttl', tag .. ':' .. owner .. ':rwlock_timeout:' .. hold)
        if left == -1 then left = math.max(redis.call('pttl', lock), 1) end
        remaining = math.max(remaining, left)
      end
      if remaining >= 0 then
        live, longest = live + 1, math.max(longest, remaining)
      else
        dead[#dead + 1] = owner
      end
    end
  end
  return longest, live, dead, complete
end

