-- read_write/release_write: brings an owner's write holds down to `holds`, and takes away the mark
-- that the owner left while it waited. Asking again changes nothing. When the owner still reads,
-- the lock becomes a read lock, and waiting readers are told. A lock that is free goes to the next of
-- those who stand by. Works at Redis' memory limit: the first write only deletes.
--
-- KEYS[1] lock     hash     mode, owner -> reads, owner:write -> writes
-- KEYS[2] channel  channel  where releases are told: 1 for a write and when a mark goes
-- KEYS[3] mark     string   since:mode:owner of the waiter that is next; with ARGV[4] or ARGV[5]
-- KEYS[4] line     hash     those who stand by: see shared/stand_by; with ARGV[4] or ARGV[5]
-- KEYS[5] token    string   last fencing token; with ARGV[5]
-- ARGV[1] nonce
-- ARGV[2] owner
-- ARGV[3] holds    the owner's write holds once released; 0 where it is missing
-- ARGV[4] marked   1: the owner may have left a mark, or stand by; 0, or missing: it does not
-- ARGV[5] row      how many were granted the lock in a row by releases; '' or missing: the next is not
--                  looked for
-- ARGV[6] token_ttl  ms, 0: for ever; with ARGV[5]
-- ARGV[7] apart  ms for which ours stand back after the last of a row; with ARGV[5]
--
-- Returns {FREED, nonce} the owner was its last holder: nobody holds it now, or the next does
--         {RELEASED, nonce} the owner still does
--         {GONE, nonce} the holds had ended before
--         {INVALID, nonce}
local lock, channel, mark, line, token = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local nonce, owner, holds, marked = ARGV[1], ARGV[2], whole(ARGV[3] or 0, 0, MOST_HOLDS), ARGV[4] == '1'
local row, token_ttl_ms = whole(ARGV[5], 0, MOST_HOLDS), whole(ARGV[6], 0, MOST_LEASE_MS)
local apart_ms = whole(ARGV[7], 0, MOST_LEASE_MS)
if not holds or owner == '' then return {'INVALID', nonce} end

if marked and line then stand_by_no_more(line, owner) end
local who, since
if marked then who, since = lift_mark(mark, 'write:' .. owner, channel, '1') end

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
local granted = grant_next(lock, line, mark, token, owner, row, token_ttl_ms, apart_ms, function(next)
  redis.call('hset', lock, 'mode', 'write', next .. ':write', '1')
end, marked, who, since)
if not granted then tell(channel, '1') end
return {'FREED', nonce}
