-- resize: sets the number of a semaphore's permits, those in use included, and reserves what became free
-- for the waiters that are next.
--
-- KEYS[1] lock     string or zset  its holders: see lib/value
-- KEYS[2] line     zset     places of its waiters -> number of arrival
-- KEYS[3] places   zset     places of its waiters -> epoch ms until which they live
-- KEYS[4] permits  string   how many permits a semaphore has
-- ARGV[1] nonce
-- ARGV[2] total
-- ARGV[3] missing  1: only if there is no semaphore
--
-- Returns {RESIZED, nonce, free permits, negative while too many are in use}
--         {WRONG_KIND, nonce} {INVALID, nonce}
local nonce, total, only_missing = ARGV[1], parse_int(ARGV[2], 0, MOST_HOLDS), ARGV[3] == '1'
if not total then return {'INVALID', nonce} end
local s, failed = read_lock(KEYS, 1, 's')
if failed then return failed end
local before = s and permits_of(s.permits, total)
if not before then return {'WRONG_KIND', nonce} end
if only_missing then
  total = before
elseif total ~= before then
  redis.call('set', s.permits, total)
end
-- Counted before the lock is written: one that has lost its last holder, and has waiters, is a set no more.
local free = total - count_holders(s)
if total > before or s.ended > 0 then
  wake_next(s, total)
  write_lock(s)
end
return {'RESIZED', nonce, free}
