-- lock/release: brings an owner's holds of a lock with one holder down to `holds`, and takes away
-- the mark that the owner left while it waited. A lock that is free then goes to the next of those who
-- stand by. Asking again changes nothing. Works at Redis' memory limit: the first write only deletes.
--
-- KEYS[1] lock     hash     owner -> holds
-- KEYS[2] channel  channel  where releases are told: 0, also when a mark goes
-- KEYS[3] mark     string   since:write:owner of the waiter that is next; with ARGV[4] or ARGV[5]
-- KEYS[4] line     hash     those who stand by: see shared/stand_by; with ARGV[4] or ARGV[5]
-- KEYS[5] token    string   last fencing token; with ARGV[5]
-- ARGV[1] nonce
-- ARGV[2] owner
-- ARGV[3] holds    the owner's holds once released; 0 where it is missing
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
if marked then who, since = lift_mark(mark, 'write:' .. owner, channel, '0') end
local status = release_sole(lock, owner, holds)
if status ~= 'FREED' then return {status, nonce} end
local granted = grant_next(lock, line, mark, token, owner, row, token_ttl_ms, apart_ms, function(next)
  redis.call('hset', lock, next, '1')
end, marked, who, since)
if not granted then tell(channel, '0') end
return {status, nonce}
