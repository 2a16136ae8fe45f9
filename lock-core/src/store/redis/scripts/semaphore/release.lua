-- semaphore/release: gives a permit back, and those whose leases are over. A caller that waits
-- leaves the line. Permits that are free then are reserved for the waiters that are next. Asking again
-- changes nothing. Works at Redis' memory limit: the first write only deletes.
--
-- KEYS[1] permits  string   free permits
-- KEYS[2] leases   zset     permit -> epoch ms at which its lease ends
-- KEYS[3] channel  channel  where free permits are told: their number
-- KEYS[4] line     hash     write:permit of each waiter -> since:until
-- ARGV[1] nonce
-- ARGV[2] permit   the owner, 16 bytes
-- ARGV[3] queued   1: the owner may stand in line; 0, or missing: it does not
--
-- Returns {FREED, nonce} the permit is free again
--         {GONE, nonce} its lease had ended before
--         {INVALID, nonce}
local permits, leases, channel, line = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local nonce, permit, queued = ARGV[1], ARGV[2], ARGV[3] == '1'
if permit == '' then return {'INVALID', nonce} end

local free = permits_of(permits, leases)
if free == false then return {'GONE', nonce} end
local left = queued and redis.pcall('hdel', line, 'write:' .. permit) == 1
local over = take_back_over(leases, now_ms())
local removed = redis.call('zrem', leases, permit)
local back = over + removed
-- A semaphore without a number is made by whoever comes next, from all that is out.
if back > 0 and free then redis.call('incrby', permits, back) end
-- With more out than there are permits nobody can enter yet, and Redisson takes no negative number.
if (back > 0 or left) and free and free + back > 0 then pass_on_permits(line, free + back, channel) end
return {removed == 1 and 'FREED' or 'GONE', nonce}
