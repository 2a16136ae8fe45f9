-- semaphore/release: gives a permit back, and those whose leases are over. Asking again changes
-- nothing. Works at Redis' memory limit: the first write only deletes.
--
-- KEYS[1] permits  string   free permits
-- KEYS[2] leases   zset     permit -> epoch ms at which its lease ends
-- KEYS[3] channel  channel  where free permits are told: their number
-- ARGV[1] nonce
-- ARGV[2] permit   the owner, 16 bytes
--
-- Returns {FREED, nonce} the permit is free again
--         {GONE, nonce} its lease had ended before
--         {INVALID, nonce}
local permits, leases, channel = KEYS[1], KEYS[2], KEYS[3]
local nonce, permit = ARGV[1], ARGV[2]
if permit == '' then return {'INVALID', nonce} end

local free = permits_of(permits, leases)
if free == false then return {'GONE', nonce} end
local over = take_back_over(leases, now_ms())
local removed = redis.call('zrem', leases, permit)
local back = over + removed
-- A semaphore without a number is made by whoever comes next, from all that is out.
if back > 0 and free then
  redis.call('incrby', permits, back)
  -- With more out than there are permits nobody can enter yet, and Redisson takes no negative number.
  if free + back > 0 then tell(channel, string.format('%.0f', free + back)) end
end
return {removed == 1 and 'FREED' or 'GONE', nonce}
