-- semaphore/acquire: takes one permit, if one is free once the leases that are over are taken back.
-- Asking again for a permit that was granted grants it, and its lease is never shortened. A
-- semaphore that does not exist is made.
--
-- KEYS[1] permits  string   free permits
-- KEYS[2] leases   zset     permit -> epoch ms at which its lease ends
-- KEYS[3] channel  channel  where free permits are told: their number
-- ARGV[1] nonce
-- ARGV[2] permit   the owner, 16 bytes
-- ARGV[3] lease    ms
-- ARGV[4] total    permits of a semaphore that does not exist yet, those that are out counted
--
-- Returns {GRANTED, nonce, ''}
--         {BUSY, nonce, ms until the next lease ends (-1: none does), 0}
--         {WRONG_KIND, nonce} {INVALID, nonce}
local permits, leases, channel = KEYS[1], KEYS[2], KEYS[3]
local nonce, permit = ARGV[1], ARGV[2]
local lease_ms, total = whole(ARGV[3], 1, MOST_LEASE_MS), whole(ARGV[4], 0, MOST_PERMITS)
if not (lease_ms and total) or permit == '' then return {'INVALID', nonce} end

local free, out = permits_of(permits, leases)
if free == false then return {'WRONG_KIND', nonce} end

local now = now_ms()
local ends = tonumber(redis.call('zscore', leases, permit) or 0)
if ends > now then
  redis.call('persist', leases)
  redis.call('zadd', leases, math.max(ends, now + lease_ms), permit)
  return {'GRANTED', nonce, ''}
end

local over = redis.call('zcount', leases, '-inf', now)
local before = free
free = free and free + over or total - (out - over)
if free > 0 then redis.call('zadd', leases, now + lease_ms, permit) end
-- The permit's own lease that was over has been written anew.
if over > 0 then take_back_over(leases, now) end
local left = free > 0 and free - 1 or free
if left ~= before then redis.call('set', permits, string.format('%.0f', left)) end
-- Redisson waits for a semaphore that does not exist until it is told of one.
if (over > 0 or not before) and left > 0 then tell(channel, string.format('%.0f', left)) end
if free > 0 then return {'GRANTED', nonce, ''} end

local next_end = tonumber(redis.call('zrange', leases, 0, 0, 'withscores')[2] or NEVER)
return {'BUSY', nonce, next_end < NEVER and math.max(next_end - now, 1) or -1, 0}
