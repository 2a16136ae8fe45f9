-- lib/token: the next fencing token, of the counter that all locks of a server share (in a cluster, of a
-- slot). It is a reading of Redis' clock in microseconds, or the last one and one more, whichever is
-- greater. So tokens of a key go on growing when the counter was lost or a failover has lost the last
-- of them; and with `floor`, the greatest token that the caller knew when it sent this, also when the
-- clock was set back besides. So many tokens `more` after it are the caller's as well. Nil when the
-- counter's name holds something else.

-- Above it Lua's numbers stop growing by one.
local MOST_TOKEN = 2 ^ 53 - 1
local function next_token(counter, floor, more)
  local stored = redis.pcall('get', counter)
  if type(stored) == 'table' and not string.find(stored.err, 'WRONGTYPE') then redis.call('get', counter) end
  local last = parse_int(stored or 0, 0, MOST_TOKEN - 1)
  if not last then return nil end
  local token = math.max(last + 1, floor + 1, (now_us()))
  if token + more > MOST_TOKEN then return nil end
  redis.call('set', counter, string.format('%.0f', token + more))
  return string.format('%.0f', token)
end

