-- lock/release: brings an owner's holds of a lock with one holder down to `holds`, and takes away
-- the mark that the owner left while it waited. Asking again changes nothing. Works at Redis' memory
-- limit: the first write only deletes.
--
-- KEYS[1] lock     hash     owner -> holds
-- KEYS[2] channel  channel  where releases are told: 0, also when a mark goes
-- KEYS[3] mark     string   since:write:owner of the waiter that is next; with ARGV[4]
-- ARGV[1] nonce
-- ARGV[2] owner
-- ARGV[3] holds    the owner's holds once released; 0 where it is missing
-- ARGV[4] marked   1: the owner may have left a mark; 0, or missing: it has not
--
-- Returns {FREED, nonce} the owner was its last holder: nobody holds it now
--         {RELEASED, nonce} the owner still does
--         {GONE, nonce} the holds had ended before
--         {INVALID, nonce}
local lock, channel, mark = KEYS[1], KEYS[2], KEYS[3]
local nonce, owner, holds, marked = ARGV[1], ARGV[2], whole(ARGV[3] or 0, 0, MOST_HOLDS), ARGV[4] == '1'
if not holds or owner == '' then return {'INVALID', nonce} end

if marked then lift_mark(mark, 'write:' .. owner, channel, '0') end
local status = release_sole(lock, owner, holds)
if status == 'FREED' then tell(channel, '0') end
return {status, nonce}
