-- semaphore/release: releases all permits of an owner, and permits whose leases have ended. A waiting caller leaves the
-- line. Permits that are free then are reserved for the next waiters. Repeating the call changes
-- nothing. Works at Redis' memory limit: the first write only deletes.
--
-- KEYS[1] permits  string   free permits
-- KEYS[2] leases   zset     permit -> epoch ms at which its lease ends
-- KEYS[3] channel  channel  where the number of free permits is published
-- KEYS[4] line     hash     write:permit of each waiter -> since:until
-- ARGV[1] nonce
-- ARGV[2] permit   the owner, 16 bytes
-- ARGV[3] queued   1: the owner may be in line; 0 (the default): it is not
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
local over = remove_expired_leases(leases, now_ms())
local removed = 0
if redis.call('zscore', leases, permit) then
  each_permit(permit, permits_held(leases, permit), function(each)
    removed = removed + redis.call('zrem', leases, each)
  end)
end
local back = over + removed
-- A semaphore without a number gets one from the next acquire.
if back > 0 and free then redis.call('incrby', permits, back) end
-- A negative number of free permits lets no waiter enter, and Redisson does not accept it in a message.
if (back > 0 or left) and free and free + back > 0 then reserve_permits(line, free + back, channel) end
return {removed > 0 and 'FREED' or 'GONE', nonce}
