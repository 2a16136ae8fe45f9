-- lib/permits: how many permits a semaphore has, in use and free. The first caller's number counts and is
-- kept; without one nothing is written, and a semaphore that does not exist has none. Nil when something
-- else stands there.
local function permits_of(key, total)
  local stored = redis.pcall('get', key)
  if type(stored) == 'table' then
    if not string.find(stored.err, 'WRONGTYPE') then redis.call('get', key) end
    return nil
  end
  if stored then return parse_int(stored, 0, MOST_HOLDS) end
  if total then redis.call('set', key, total) end
  return total or 0
end

