-- read_write/release_write: reduces an owner's write holds to `holds`, and removes the owner from the
-- line. A lock that is free then is reserved for the next waiters. If the owner still reads, the lock
-- becomes a read lock, and the next readers are woken. Repeating the call changes nothing. Works at
-- Redis' memory limit: the first write only deletes.
--
-- KEYS[1] lock     hash     mode, owner -> reads, owner:write -> writes
-- KEYS[2] channel  channel  where releases are published: 1
-- KEYS[3] line     hash     mode:owner of each waiter -> since:until
-- ARGV[1] nonce
-- ARGV[2] owner
-- ARGV[3] holds    the owner's write holds once released; 0 if missing
-- ARGV[4] queued   1: the owner may be in line; 0 (the default): it is not
--
-- Returns {FREED, nonce, listeners} the owner was the last holder: the lock is free now. `listeners`: see reserve_for_next
--         {RELEASED, nonce} the owner still does
--         {GONE, nonce} the holds had ended before
--         {INVALID, nonce}
local lock, channel, line = KEYS[1], KEYS[2], KEYS[3]
local nonce, owner, holds, queued = ARGV[1], ARGV[2], parse_int(ARGV[3] or 0, 0, MOST_HOLDS), ARGV[4] == '1'
if not holds or owner == '' then return {'INVALID', nonce} end

if queued then give_up_place(lock, line, 'write:' .. owner, channel, '1') end

local own = owner .. ':write'
local state = redis.pcall('hmget', lock, 'mode', own, owner)
if state.err then return string.find(state.err, 'WRONGTYPE') and {'GONE', nonce} or state end
local mode, held = state[1], tonumber(state[2] or 0)
if mode ~= 'write' or held < holds or held == 0 then return {'GONE', nonce} end
if held == holds then return {'RELEASED', nonce} end

if holds > 0 then
  redis.call('hdel', lock, own)
  redis.call('hset', lock, own, holds)
  return {'RELEASED', nonce}
end
local reading_ms = state[3] and redis.call('pttl', reads_of(channel, owner) .. ':1') or -2
if reading_ms > 0 then
  redis.call('hdel', lock, own)
  redis.call('hset', lock, 'mode', 'read')
  redis.call('pexpire', lock, reading_ms)
  reserve_for_next(line, false, channel, '1')
  return {'RELEASED', nonce}
end
redis.call('del', lock)
return {'FREED', nonce, reserve_for_next(line, true, channel, '1')}
