-- lib/next_token: stores and returns the next fencing token of a key, as exact decimal text; nil when
-- the key holds something else. Tokens follow Redis' clock in microseconds, so they keep growing when
-- the key has expired or a failover has lost the last ones. A token key without a TTL is permanent
-- (Redisson's RFencedLock) and stays permanent; ttl_ms 0 makes ours permanent too. The `reserved`
-- tokens that follow the returned one belong to the caller too, and are never granted again.
--
-- Where clients of the native wire have been, their counter exists. They may take a lock after this one
-- without a look at its token, so the counter never stays behind it, nor the token behind the counter.

-- Above it Lua's numbers stop growing by one.
local MOST_TOKEN = 2 ^ 53 - 1
local function next_token(key, counter, ttl_ms, reserved)
  local stored = redis.pcall('get', key)
  if type(stored) == 'table' and not string.find(stored.err, 'WRONGTYPE') then redis.call('get', key) end
  local last = parse_int(stored or 0, 0, MOST_TOKEN - 1)
  if not last then return nil end
  local drawn = redis.pcall('get', counter)
  drawn = type(drawn) == 'string' and parse_int(drawn, 0, MOST_TOKEN - 1)
  if drawn then last = math.max(last, drawn) end
  local token, text = now_us()
  -- Only if needed: formatting a number costs as much as a command.
  if last >= token then token, text = last + 1, string.format('%.0f', last + 1) end
  local last_reserved = text
  if reserved and reserved > 0 then last_reserved = string.format('%.0f', token + reserved) end
  if token + (reserved or 0) > MOST_TOKEN then return nil end
  if drawn then redis.call('set', counter, last_reserved) end
  if ttl_ms == 0 or (stored and redis.call('pttl', key) == -1) then
    redis.call('set', key, last_reserved)
  else
    redis.call('set', key, last_reserved, 'px', ttl_ms)
  end
  return text
end

