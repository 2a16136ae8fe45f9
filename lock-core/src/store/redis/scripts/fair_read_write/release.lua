-- fair_read_write/release: brings an owner's holds of one mode down to `holds`, and takes the owner
-- out of the line. Whoever may enter then is told. Asking again changes nothing. Works at Redis'
-- memory limit: the first write only deletes.
--
-- KEYS[1] lock     hash     mode, owner -> reads, owner:write -> writes
-- KEYS[2] reads    prefix   of the owner's keys reads:1 .. reads:n
-- KEYS[3] channel  channel  where releases are told: 0 for a read, 1 for a write
-- KEYS[4] line     zset     mode:owner of each waiter -> number of arrival; see lib/fair_queue
-- KEYS[5] alive    zset     mode:owner -> epoch ms until which its place lives
-- KEYS[6] turn     prefix   of the waiters' channels turn:owner, told 1
-- ARGV[1] nonce
-- ARGV[2] owner
-- ARGV[3] mode     read or write
-- ARGV[4] holds    the owner's holds of that mode once released
-- ARGV[5] queued   1: the owner may stand in line; 0: it does not
--
-- Returns {FREED, nonce} nobody holds the lock now
--         {RELEASED, nonce} somebody does: the owner itself or other readers
--         {GONE, nonce} the holds had ended before
--         {INVALID, nonce}
local lock, reads, channel, line, alive, turn = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6]
local nonce, owner, mode, holds = ARGV[1], ARGV[2], ARGV[3], parse_int(ARGV[4], 0, MOST_HOLDS)
local queued = ARGV[5] == '1'
if not holds or owner == '' then return {'INVALID', nonce} end
if mode ~= 'read' and mode ~= 'write' then return {'INVALID', nonce} end

local stands, before = line_stands(line, alive), mode_of(lock)
local left = stands and queued and leave_line(line, alive, mode .. ':' .. owner)
-- The plain steps look for waiters; this name is nobody's key.
local no_line, reply = reads, nil
if mode == 'read' then
  reply = read_write_release_read({lock, reads, channel, no_line}, {nonce, owner, holds})
else
  reply = read_write_release_write({lock, channel, no_line}, {nonce, owner, holds})
end
if stands and (left or mode_of(lock) ~= before) then pass_turn(lock, line, alive, turn) end
return reply
