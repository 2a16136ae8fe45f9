-- count_permits: counts the permits of a semaphore that are in use.
--
-- KEYS[1] lock     string or zset  its holders: see lib/value
-- KEYS[2] line     zset     places of its waiters -> number of arrival
-- KEYS[3] places   zset     places of its waiters -> epoch ms until which they live
-- ARGV[1] nonce
--
-- Returns {COUNTED, nonce, permits in use}
--         {WRONG_KIND, nonce}
local s, failed = read_lock(KEYS, 1, 's')
if failed then return failed end
if not s then return {'WRONG_KIND', ARGV[1]} end
return {'COUNTED', ARGV[1], count_holders(s)}
