-- exclusive/release: reduces an owner's holds of a lock with one holder to `holds`, and removes the owner
-- from the line. A lock that is free then is reserved for the next waiter. Repeating the call changes
-- nothing. Works at Redis' memory limit: the first write only deletes.
--
-- KEYS[1] lock     hash     owner -> holds
-- KEYS[2] channel  channel  where releases are published: 0
-- KEYS[3] line     hash     write:owner of each waiter -> since:until
-- ARGV[1] nonce
-- ARGV[2] owner
-- ARGV[3] holds    the owner's holds once released; 0 if missing
-- ARGV[4] queued   1: the owner may be in line; 0 (the default): it is not
--
-- Returns {FREED, nonce, listeners} the owner was the last holder: the lock is free now. `listeners`: see reserve_for_next
--         {RELEASED, nonce} the owner still does
--         {GONE, nonce} the holds had ended before
--         {INVALID, nonce}
local lock, channel, line = KEYS[1], KEYS[2], KEYS[3]
local nonce, owner, holds, queued = ARGV[1], ARGV[2], parse_int(ARGV[3] or 0, 0, MOST_HOLDS), ARGV[4] == '1'
if not holds or owner == '' then return {'INVALID', nonce} end

if queued then give_up_place(lock, line, 'write:' .. owner, channel, '0') end
local status = release_exclusive(lock, owner, holds)
if status == 'FREED' then return {status, nonce, reserve_for_next(line, true, channel, '0')} end
return {status, nonce}
