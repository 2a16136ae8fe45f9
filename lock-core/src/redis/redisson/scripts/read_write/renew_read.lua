-- read_write/renew_read: extends the leases of read holds. A hold is renewed only if all its keys still
-- exist; one that expired while other readers kept the lock alive is reported as lost.
-- A lease is never shortened (exception: lib/renewed).
-- A foreign or broken key affects only its own result.
--
-- KEYS[2i-1] lock   hash    mode, owner -> reads
-- KEYS[2i]   reads  prefix  of the owner's keys reads:1 .. reads:n
-- ARGV[1]    nonce
-- ARGV[2i]   owner
-- ARGV[2i+1] lease  ms, or "=" and ms: exactly
--
-- Returns {RENEWED, nonce, for each hold 1 (renewed), 0 (lost) or what was wrong (state unknown)}
local nonce = ARGV[1]

local function renew(lock, reads, owner, lease_ms, exactly)
  local held = tonumber(redis.call('hget', lock, owner) or 0)
  if held == 0 then return 0 end
  local longest_ms = lease_ms
  for hold = 1, held do
    local left_ms = redis.call('pttl', reads .. ':' .. hold)
    if left_ms == -2 then
      redis.call('hdel', lock, owner)
      return 0
    end
    local ttl_ms = renewed_ms(left_ms, lease_ms, exactly)
    if ttl_ms ~= left_ms then redis.call('pexpire', reads .. ':' .. hold, ttl_ms) end
    longest_ms = math.max(longest_ms, ttl_ms)
  end
  local left_ms = redis.call('pttl', lock)
  -- With other readers the TTL is never shortened. It may be too long then, but each reader's own keys
  -- end in time.
  local alone = redis.call('hlen', lock) == 2
  local ttl_ms = alone and renewed_ms(left_ms, longest_ms, exactly) or math.max(left_ms, longest_ms)
  if ttl_ms ~= left_ms then redis.call('pexpire', lock, ttl_ms) end
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
