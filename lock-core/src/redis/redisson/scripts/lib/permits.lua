-- lib/permits: a semaphore in Redisson's form: the number of free permits, and the acquired permits
-- with the time at which each lease ends. Neither key has a TTL.
local MOST_PERMITS = 2 ^ 32 - 1

-- Returns the number of free permits (nil: the semaphore has no number yet) and the number of leases,
-- including ended ones; false when one of the keys has another type.
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

-- Calls `each` with the members of `leases` that stand for so many permits of one owner, which is 16
-- bytes long: the owner itself, and the owner with a number behind it for every further permit.
-- Redisson only counts them.
local function each_permit(owner, permits, each)
  for number = 1, permits do each(number == 1 and owner or owner .. string.format('%.0f', number)) end
end

-- Returns how many permits an owner has, whose first one is among the leases.
local function permits_held(leases, owner)
  local held = 1
  while redis.call('zscore', leases, owner .. string.format('%.0f', held + 1)) do held = held + 1 end
  return held
end

-- Removes leases that have ended, and returns their number. Works at Redis' memory limit: the first
-- write only deletes.
local function remove_expired_leases(leases, now)
  return redis.call('zremrangebyscore', leases, '-inf', now)
end

