-- lib/hold_reads: sets the TTL of the first `holds` read holds of an owner. All of them share one
-- deadline, so that releasing them in any order never shortens a remaining one.
local function hold_reads(reads, holds, ttl_ms)
  for hold = 1, holds do redis.call('set', reads .. ':' .. hold, '1', 'px', ttl_ms) end
end

