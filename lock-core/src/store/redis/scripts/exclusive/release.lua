-- exclusive/release: brings an owner's holds of a lock with one holder down to `holds`, and takes the
-- owner out of the line. A lock that is free then is reserved for the waiter that is next. Asking
-- again changes nothing. Works at Redis' memory limit: the first write only deletes.
--
-- KEYS[1] lock     hash     owner -> holds
-- KEYS[2] channel  channel  where releases are told: 0
-- KEYS[3] line     hash     write:owner of each waiter -> since:until
-- ARGV[1] nonce
-- ARGV[2] owner
-- ARGV[3] holds    the owner's holds once released; 0 where it is missing
-- ARGV[4] queued   1: the owner may stand in line; 0, or missing: it does not
--
-- Returns {FREED, nonce} the owner was its last holder: nobody holds it now
--         {RELEASED, nonce} the owner still does
--         {GONE, nonce} the holds had ended before
--         {INVALID, nonce}
local lock, channel, line = KEYS[1], KEYS[2], KEYS[3]
local nonce, owner, holds, queued = ARGV[1], ARGV[2], parse_int(ARGV[3] or 0, 0, MOST_HOLDS), ARGV[4] == '1'
if not holds or owner == '' then return {'INVALID', nonce} end

if queued then leave(lock, line, 'write:' .. owner, channel, '0') end
local status = release_sole(lock, owner, holds)
if status == 'FREED' then pass_on(line, true, channel, '0') end
return {status, nonce}
