-- semaphore/renew: extends the leases of permits. A lease is never shortened (exception:
-- lib/renewed), and one that has ended is lost. A foreign or broken key affects only its own result.
--
-- KEYS[i]    leases  zset    permit -> epoch ms at which its lease ends
-- ARGV[1]    nonce
-- ARGV[2i]   permit  the owner, 16 bytes
-- ARGV[2i+1] lease   ms, or "=" and ms: exactly
--
-- Returns {RENEWED, nonce, for each hold 1 (renewed), 0 (lost) or what was wrong (state unknown)}
local nonce = ARGV[1]
local now = now_ms()

local function renew(leases, permit, lease_ms, exactly)
  local ends = tonumber(redis.call('zscore', leases, permit) or 0)
  if ends <= now then return 0 end
  if ends >= NEVER then return 1 end
  -- Changes nothing: Redis lets a script that has begun to write continue at its memory limit.
  redis.call('persist', leases)
  local until_ms = now + renewed_ms(ends - now, lease_ms, exactly)
  each_permit(permit, permits_held(leases, permit), function(each) redis.call('zadd', leases, until_ms, each) end)
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
