-- force_release: takes a lock away from whatever owners hold it, and gives all of a semaphore's permits
-- back. Waiters keep their places, and what is free is reserved for those that are next. Every fencing
-- token given out before is stale. Works at Redis' memory limit: the first write only deletes.
--
-- KEYS[1] lock     string or zset  its holders: see lib/value
-- KEYS[2] line     zset     places of its waiters -> number of arrival
-- KEYS[3] places   zset     places of its waiters -> epoch ms until which they live
-- KEYS[4] counter  string   last fencing token
-- ARGV[1] nonce
-- ARGV[2] floor    the greatest token that the caller knows
-- ARGV[3] beside   1: also from another library, whose text is deleted; our waiters find out by polling
-- ARGV[4] holder   only if this is one of the holders that inspect lists ('': whatever they are)
--
-- Returns {FREED, nonce, new token ('' for a semaphore)}
--         {GONE, nonce, new token ('' for a semaphore)} it had no holder
--         {GONE, nonce, ''} the owner does not hold it, and nothing is deleted
--         {WRONG_KIND, nonce} {INVALID, nonce} and nothing is deleted
local nonce, floor = ARGV[1], parse_int(ARGV[2], 0, MOST_TOKEN)
if not floor then return {'INVALID', nonce} end
local s, failed = read_lock(KEYS, 1, nil, ARGV[3] == '1')
if failed then return failed end
if not s then return {'WRONG_KIND', nonce} end
if not is_held_by(list_holders(s), ARGV[4]) then return {'GONE', nonce, ''} end

local status = count_holders(s) > 0 and 'FREED' or 'GONE'
begin_write(s)
local fence = ''
if s.kind ~= 's' then
  fence = next_token(KEYS[4], floor, 0)
  if not fence then return {'WRONG_KIND', nonce} end
end
if s.text then
  redis.call('del', s.lock)
  return {'FREED', nonce, fence}
end
s.set, s.owner, s.reads, s.writes, s.deadline = nil, nil, 0, 0, nil
if s.kind then
  wake_next(s)
  write_lock(s)
end
return {status, nonce, fence}
