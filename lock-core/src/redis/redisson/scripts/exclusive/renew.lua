-- exclusive/renew: extends the leases of holds of locks with one holder, fair ones included. A lease is
-- never shortened (exception: lib/renewed). A foreign or broken key affects only its own result.
--
-- KEYS[i]    lock   hash    owner -> holds
-- ARGV[1]    nonce
-- ARGV[2i]   owner
-- ARGV[2i+1] lease  ms, or "=" and ms: exactly
--
-- Returns {RENEWED, nonce, for each hold 1 (renewed), 0 (lost) or what was wrong (state unknown)}
local nonce = ARGV[1]

local function renew(lock, owner, lease_ms, exactly)
  local state = redis.call('hmget', lock, 'mode', owner)
  if state[1] or tonumber(state[2] or 0) < 1 then return 0 end
  local left_ms = redis.call('pttl', lock)
  local ttl_ms = renewed_ms(left_ms, lease_ms, exactly)
  if ttl_ms ~= left_ms then redis.call('pexpire', lock, ttl_ms) end
  return 1
end

local reply = {'RENEWED', nonce}
for at = 1, #KEYS do
  local lease_ms, exactly = parse_lease(ARGV[2 * at + 1])
  local done, renewed = false, 'INVALID'
  if lease_ms then done, renewed = pcall(renew, KEYS[at], ARGV[2 * at], lease_ms, exactly) end
  reply[#reply + 1] = done and renewed or failure_of(renewed)
end
return reply
