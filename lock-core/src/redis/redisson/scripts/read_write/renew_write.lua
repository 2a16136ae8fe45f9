-- read_write/renew_write: extends the leases of write holds, and of the same owner's reads inside them.
-- A lease is never shortened (exception: lib/renewed). A foreign or broken key affects only its own
-- result.
--
-- KEYS[2i-1] lock   hash    mode, owner -> reads, owner:write -> writes
-- KEYS[2i]   reads  prefix  of the owner's keys reads:1 .. reads:n
-- ARGV[1]    nonce
-- ARGV[2i]   owner
-- ARGV[2i+1] lease  ms, or "=" and ms: exactly
--
-- Returns {RENEWED, nonce, for each hold 1 (renewed), 0 (lost) or what was wrong (state unknown)}
local nonce = ARGV[1]

local function renew(lock, reads, owner, lease_ms, exactly)
  local state = redis.call('hmget', lock, owner .. ':write', owner)
  if tonumber(state[1] or 0) == 0 then return 0 end
  local ttl_ms = renewed_ms(redis.call('pttl', lock), lease_ms, exactly)
  redis.call('pexpire', lock, ttl_ms)
  hold_reads(reads, tonumber(state[2] or 0), ttl_ms)
  return 1
end

local reply = {'RENEWED', nonce}
for at = 1, #KEYS / 2 do
  local lease_ms, exactly = parse_lease(ARGV[2 * at + 1])
  local done, renewed = false, 'INVALID'
  if lease_ms then done, renewed = pcall(renew, KEYS[2 * at - 1], KEYS[2 * at], ARGV[2 * at], lease_ms, exactly) end
  reply[#reply + 1] = done and renewed or failure_of(renewed)
end
return reply
