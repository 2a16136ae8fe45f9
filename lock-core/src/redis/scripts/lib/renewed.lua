-- lib/renewed: the TTL (ms) that a renewal sets: never less than the current one, unless Redis' clock
-- was set back. A renewal carries the longest lease that its owner has requested, but a late one may
-- carry an older, shorter lease. So only a TTL that exceeds the lease by far counts as a clock jump.
-- A lease that is written "=2000" is set to exactly that.
local JUMP_MS = 1800000
local function parse_lease(text)
  local exactly = string.sub(text or '', 1, 1) == '='
  return parse_int(exactly and string.sub(text, 2) or text, 1, MOST_LEASE_MS), exactly
end
local function renewed_ms(left_ms, lease_ms, exactly)
  if exactly or left_ms > lease_ms + JUMP_MS then return lease_ms end
  return math.max(left_ms, lease_ms)
end

-- The answer of a renewal that failed: the error of Redis, so that the client's log says it.
local function failure_of(why)
  return type(why) == 'table' and why.err or tostring(why)
end

