-- read_write/release_read: reduces an owner's read holds to `holds`, and removes the owner from the line.
-- Repeating the call changes nothing. The last reader frees the lock, which is then reserved for the
-- next waiters. Inside the owner's write only the read ends; a read that is missing there counts as
-- released. Works at Redis' memory limit: the first write only deletes.
--
-- KEYS[1] lock     hash     mode, owner -> reads, owner:write -> writes
-- KEYS[2] reads    prefix   of the owner's keys reads:1 .. reads:n
-- KEYS[3] channel  channel  where releases are published: 0 for a read, 1 for a waiter that leaves
-- KEYS[4] line     hash     mode:owner of each waiter -> since:until
-- ARGV[1] nonce
-- ARGV[2] owner
-- ARGV[3] holds    the owner's read holds once released; 0 if missing
-- ARGV[4] queued   1: the owner may be in line; 0 (the default): it is not
--
-- Returns {FREED, nonce, listeners} that was the last reader: the lock is free now. `listeners`: see reserve_for_next
--         {RELEASED, nonce} the lock is still held, by the owner or by other readers
--         {GONE, nonce} the holds had ended before
--         {INVALID, nonce}
local lock, reads, channel, line = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local nonce, owner, holds, queued = ARGV[1], ARGV[2], parse_int(ARGV[3] or 0, 0, MOST_HOLDS), ARGV[4] == '1'
if not holds or owner == '' then return {'INVALID', nonce} end

if queued then give_up_place(lock, line, 'read:' .. owner, channel, '1') end

-- With more fields, expired readers are left to the next writer: a release among many readers stays cheap.
local FEW_FIELDS = 9

local state = redis.pcall('hmget', lock, 'mode', owner, owner .. ':write')
if state.err then return string.find(state.err, 'WRONGTYPE') and {'GONE', nonce} or state end
local mode, held, writes = state[1], tonumber(state[2] or 0), tonumber(state[3] or 0)
if (mode ~= 'read' and mode ~= 'write') or held < holds or (held == 0 and writes == 0) then return {'GONE', nonce} end
-- The most frequent case: the only reader.
if mode == 'read' and held == 1 and holds == 0 and redis.call('hlen', lock) == 2 then
  local lapsed = redis.call('del', lock, reads .. ':1') == 1
  return {lapsed and 'GONE' or 'FREED', nonce, reserve_for_next(line, true, channel, '0')}
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
  local longest_ms, live = other_readers(lock, tag_of(channel))
  if live > 0 then
    redis.call('pexpire', lock, math.max(longest_ms, 1))
    return {status, nonce}
  end
end
redis.call('del', lock)
return {lapsed and 'GONE' or 'FREED', nonce, reserve_for_next(line, true, channel, '0')}
