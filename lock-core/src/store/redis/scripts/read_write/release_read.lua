-- read_write/release_read: brings an owner's read holds down to `holds`, and takes the owner out of
-- the line. Asking again changes nothing. The last reader frees the lock, which is then reserved for
-- those that are next; inside the owner's write only the read ends, and none there is as good as
-- released. Works at Redis' memory limit: the first write only deletes.
--
-- KEYS[1] lock     hash     mode, owner -> reads, owner:write -> writes
-- KEYS[2] reads    prefix   of the owner's keys reads:1 .. reads:n
-- KEYS[3] channel  channel  where releases are told: 0 for a read, 1 for a waiter that leaves
-- KEYS[4] line     hash     mode:owner of each waiter -> since:until
-- ARGV[1] nonce
-- ARGV[2] owner
-- ARGV[3] holds    the owner's read holds once released; 0 where it is missing
-- ARGV[4] queued   1: the owner may stand in line; 0, or missing: it does not
--
-- Returns {FREED, nonce} the last reader has gone: nobody holds it now
--         {RELEASED, nonce} somebody does: the owner itself or other readers
--         {GONE, nonce} the holds had ended before
--         {INVALID, nonce}
local lock, reads, channel, line = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local nonce, owner, holds, queued = ARGV[1], ARGV[2], parse_int(ARGV[3] or 0, 0, MOST_HOLDS), ARGV[4] == '1'
if not holds or owner == '' then return {'INVALID', nonce} end

if queued then leave(lock, line, 'read:' .. owner, channel, '1') end

-- A longer look at other readers is left to the writer that waits: a release stays cheap in a crowd.
local FEW_FIELDS = 9

local state = redis.pcall('hmget', lock, 'mode', owner, owner .. ':write')
if state.err then return string.find(state.err, 'WRONGTYPE') and {'GONE', nonce} or state end
local mode, held, writes = state[1], tonumber(state[2] or 0), tonumber(state[3] or 0)
if (mode ~= 'read' and mode ~= 'write') or held < holds or (held == 0 and writes == 0) then return {'GONE', nonce} end
-- The only reader, as most are.
if mode == 'read' and held == 1 and holds == 0 and redis.call('hlen', lock) == 2 then
  local lapsed = redis.call('del', lock, reads .. ':1') == 1
  pass_on(line, true, channel, '0')
  return {lapsed and 'GONE' or 'FREED', nonce}
end
local lapsed = writes == 0 and redis.call('exists', reads .. ':1') == 0
if held == holds and not lapsed then return {'RELEASED', nonce} end

for hold = holds + 1, held do redis.call('del', reads .. ':' .. hold) end
redis.call('hdel', lock, owner)
if holds > 0 and not lapsed then
  redis.call('hset', lock, owner, holds)
  return {'RELEASED', nonce}
end

local status = lapsed and 'GONE' or 'RELEASED'
if mode == 'write' then return {status, nonce} end
local fields = redis.call('hlen', lock)
if fields > FEW_FIELDS then return {status, nonce} end
if fields > 1 then
  local longest_ms, live = readers(lock, tag_of(channel))
  if live > 0 then
    redis.call('pexpire', lock, math.max(longest_ms, 1))
    return {status, nonce}
  end
end
redis.call('del', lock)
pass_on(line, true, channel, '0')
return {lapsed and 'GONE' or 'FREED', nonce}
