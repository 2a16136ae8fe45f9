-- lib/permits: a semaphore as Redisson keeps it: the number of free permits, and the permits that
-- are out with the time at which each lease ends. Neither key has a TTL.
local MOST_PERMITS = 2 ^ 32 - 1

-- The number of free permits (nil: nobody has said yet) and how many leases stand, ended ones
-- counted; false when something else stands under one of the names.
local function permits_of(permits, leases)
  local free, out = redis.pcall('get', permits), redis.pcall('zcard', leases)
  if type(free) == 'table' or type(out) == 'table' then
    local err = type(free) == 'table' and free.err or out.err
    if not string.find(err, 'WRONGTYPE') then
      redis.call('get', permits)
      redis.call('zcard', leases)
    end
    return false
  end
  if not free then return nil, out end
  free = parse_int(free, -MOST_PERMITS, MOST_PERMITS)
  if not free then return false end
  return free, out
end

-- Leases that are over are taken back; how many there were. Nothing that is held can be missed for
-- want of memory: the first write only deletes.
local function take_back_over(leases, now)
  return redis.call('zremrangebyscore', leases, '-inf', now)
end

