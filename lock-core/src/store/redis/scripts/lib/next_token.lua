-- lib/next_token: the next fencing token of a key, stored, as exact decimal text; nil when the
-- key holds no token. Tokens follow Redis' clock in microseconds, so they keep growing when the
-- key has expired or a failover has lost the last ones. A token key found without a TTL is
-- somebody's for ever (Redisson's RFencedLock) and stays so; ttl_ms 0 makes ours so too. So many
-- tokens `more` after it are the caller's as well: nobody is given them later.
local MOST_TOKEN = 2 ^ 53 - 1 -- above it Lua's numbers stop growing by one
local function next_token(key, ttl_ms, more)
  local stored = redis.pcall('get', key)
  if type(stored) == 'table' and not string.find(stored.err, 'WRONGTYPE') then redis.call('get', key) end
  local last = parse_int(stored or 0, 0, MOST_TOKEN - 1)
  if not last then return nil end
  local token, text = now_us()
  -- Only where it must: formatting a number costs as much as a command.
  if last >= token then token, text = last + 1, string.format('%.0f', last + 1) end
  local reserved = text
  if more and more > 0 then reserved = string.format('%.0f', token + more) end
  if token + (more or 0) > MOST_TOKEN then return nil end
  if ttl_ms == 0 or (stored and redis.call('pttl', key) == -1) then
    redis.call('set', key, reserved)
  else
    redis.call('set', key, reserved, 'px', ttl_ms)
  end
  return text
end

