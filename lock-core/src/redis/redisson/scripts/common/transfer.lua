-- common/transfer: passes the only hold of an owner on to another owner, for as long as it would have
-- lasted: of every kind but semaphores. Repeating a call that was done changes nothing.
--
-- KEYS[1] lock      hash    mode, owner -> reads, owner:write -> writes; or owner -> holds
-- KEYS[2] reads     prefix  of the owner's keys reads:1 .. reads:n
-- KEYS[3] to_reads  prefix  of the same keys of the owner that gets it
-- ARGV[1] nonce
-- ARGV[2] field    the owner's field in the hash
-- ARGV[3] other    the owner's field of the other mode, or empty
-- ARGV[4] to       the field of the owner that gets it
-- ARGV[5] shared   1: a read, which has a time of its own
--
-- Returns {TRANSFERRED, nonce}
--         {LOST, nonce} neither owner has such a hold
--         {INVALID, nonce}
local lock, reads, to_reads = KEYS[1], KEYS[2], KEYS[3]
local nonce, field, other, to, shared = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5] == '1'
if field == '' or to == '' or to == 'mode' then return {'INVALID', nonce} end

local state = redis.pcall('hmget', lock, field, to, other)
if state.err then return string.find(state.err, 'WRONGTYPE') and {'LOST', nonce} or state end
local function is_held(holds, key)
  return holds == '1' and (not shared or redis.call('exists', key .. ':1') == 1)
end
if is_held(state[2], to_reads) then return {'TRANSFERRED', nonce} end
if state[3] or not is_held(state[1], reads) then return {'LOST', nonce} end

-- The first write may need memory, and is refused before anything has changed.
redis.call('hset', lock, to, '1')
if shared then
  -- Redis says 0 in the last millisecond, a time to live that it refuses.
  redis.call('set', to_reads .. ':1', '1', 'px', math.max(redis.call('pttl', reads .. ':1'), 1))
  redis.call('del', reads .. ':1')
end
redis.call('hdel', lock, field)
return {'TRANSFERRED', nonce}
