-- fair_read_write/release: reduces an owner's holds of one mode to `holds`, and removes the owner from the
-- queue. Waiters that may enter then are woken. Repeating the call changes nothing. Works at Redis'
-- memory limit: the first write only deletes.
--
-- KEYS[1] lock     hash     mode, owner -> reads, owner:write -> writes
-- KEYS[2] reads    prefix   of the owner's keys reads:1 .. reads:n
-- KEYS[3] channel  channel  where releases are published: 0 for a read, 1 for a write
-- KEYS[4] line     zset     mode:owner of each waiter -> number of arrival; see lib/fair_read_write_queue
-- KEYS[5] alive    zset     mode:owner -> epoch ms until which its place lives
-- KEYS[6] turn     prefix   of the waiters' channels turn:owner, which get 1
-- ARGV[1] nonce
-- ARGV[2] owner
-- ARGV[3] mode     read or write
-- ARGV[4] holds    the owner's holds of that mode once released
-- ARGV[5] queued   1: the owner may be in line; 0: it is not
--
-- Returns {FREED, nonce} the lock is free now
--         {RELEASED, nonce} the lock is still held, by the owner or by other readers
--         {GONE, nonce} the holds had ended before
--         {INVALID, nonce}
local lock, reads, channel, line, alive, turn = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6]
local nonce, owner, mode, holds = ARGV[1], ARGV[2], ARGV[3], parse_int(ARGV[4], 0, MOST_HOLDS)
local queued = ARGV[5] == '1'
if not holds or owner == '' then return {'INVALID', nonce} end
if mode ~= 'read' and mode ~= 'write' then return {'INVALID', nonce} end

local has_queue, before = has_fair_queue(line, alive), mode_of(lock)
local left = has_queue and queued and leave_fair_queue(line, alive, mode .. ':' .. owner)
-- The called scripts check for waiters; no key has this name, so they find none.
local no_line, reply = reads, nil
if mode == 'read' then
  reply = read_write_release_read({lock, reads, channel, no_line}, {nonce, owner, holds})
else
  reply = read_write_release_write({lock, channel, no_line}, {nonce, owner, holds})
end
if has_queue and (left or mode_of(lock) ~= before) then wake_next(lock, line, alive, turn) end
return reply
