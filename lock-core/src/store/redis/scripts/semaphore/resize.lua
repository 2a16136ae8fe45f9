-- semaphore/resize: sets how many permits there are, those that are out counted. Nobody loses one:
-- where more are out than there are permits now, the number of free ones is below zero for a while.
--
-- KEYS[1] permits  string   free permits
-- KEYS[2] leases   zset     permit -> epoch ms at which its lease ends
-- KEYS[3] channel  channel  where free permits are told: their number
-- KEYS[4] line     hash     write:permit of each waiter -> since:until
-- ARGV[1] nonce
-- ARGV[2] total    permits
-- ARGV[3] only_missing  1: leave a semaphore that exists alone; 0: do not
--
-- Returns {RESIZED, nonce, free permits, 1 if that is another number than before}
--         {WRONG_KIND, nonce} {INVALID, nonce}
local permits, leases, channel, line = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local nonce, total, only_missing = ARGV[1], parse_int(ARGV[2], 0, MOST_PERMITS), ARGV[3] == '1'
if not total then return {'INVALID', nonce} end

local before, out = permits_of(permits, leases)
if before == false then return {'WRONG_KIND', nonce} end

-- Permits whose leases are over are free, whoever takes them back.
local now = now_ms()
local over = redis.call('zcount', leases, '-inf', now)
if only_missing and before then return {'RESIZED', nonce, before + over, 0} end

local free = total - (out - over)
redis.call('set', permits, string.format('%.0f', free))
take_back_over(leases, now)
if free > (before or 0) and free > 0 then pass_on_permits(line, free, channel) end
return {'RESIZED', nonce, free, free ~= before and 1 or 0}
