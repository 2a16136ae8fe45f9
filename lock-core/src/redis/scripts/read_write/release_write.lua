-- read_write/release_write: brings an owner's write holds down to `holds`, and takes away the mark
-- that the owner left while it waited. Asking again changes nothing. When the owner still reads,
-- the lock becomes a read lock, and waiting readers are told. Works at Redis' memory limit: the first
-- write only deletes.
--
-- KEYS[1] lock     hash     mode, owner -> reads, owner:write -> writes
-- KEYS[2] channel  channel  where releases are told: 1 for a write and when a mark goes
-- KEYS[3] mark     string   since:mode:owner of the waiter that is next; with ARGV[4]
-- ARGV[1] nonce
-- ARGV[2] owner
-- ARGV[3] holds    the owner's write holds once released; 0 where it is missing
-- ARGV[4] marked   1: the owner may have left a mark; 0, or missing: it has not
--
-- Returns {FREED, nonce} the owner was its last holder: nobody holds it now
--         {RELEASED, nonce} the owner still does
--         {GONE, nonce} the holds had ended before
--         {INVALID, nonce}
local lock, channel, mark = KEYS[1], KEYS[2], KEYS[3]
local nonce, owner, holds, marked = ARGV[1], ARGV[2], whole(ARGV[3] or 0, 0, MOST_HOLDS), ARGV[4] == '1'
if not holds or owner == '' then return {'INVALID', nonce} end

if marked then lift_mark(mark, 'write:' .. owner, channel, '1') end

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
  tell(channel, '1')
  return {'RELEASED', nonce}
end
redis.call('del', lock)
tell(channel, '1')
return {'FREED', nonce}
