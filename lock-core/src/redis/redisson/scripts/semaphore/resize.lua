-- semaphore/resize: sets the number of permits, including acquired ones, or counts those that are free. No holder loses its permit: if
-- more are acquired than there are permits now, the number of free ones is negative for a while.
--
-- KEYS[1] permits  string   free permits
-- KEYS[2] leases   zset     permit -> epoch ms at which its lease ends
-- KEYS[3] channel  channel  where the number of free permits is published
-- KEYS[4] line     hash     write:permit of each waiter -> since:until
-- ARGV[1] nonce
-- ARGV[2] total    permits
-- ARGV[3] counts   1: changes nothing; 0: sets the number
--
-- Returns {RESIZED, nonce, free permits, 1 if that number changed}
--         {WRONG_KIND, nonce} {INVALID, nonce}
local permits, leases, channel, line = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local nonce, total, counts = ARGV[1], parse_int(ARGV[2], 0, MOST_PERMITS), ARGV[3] == '1'
if not total then return {'INVALID', nonce} end

local before, out = permits_of(permits, leases)
if before == false then return {'WRONG_KIND', nonce} end

-- Permits whose leases have ended are free, removed or not.
local now = now_ms()
local over = redis.call('zcount', leases, '-inf', now)
if counts then return {'RESIZED', nonce, before and before + over or total - (out - over), 0} end

local free = total - (out - over)
redis.call('set', permits, string.format('%.0f', free))
remove_expired_leases(leases, now)
if free > (before or 0) and free > 0 then reserve_permits(line, free, channel) end
return {'RESIZED', nonce, free, free ~= before and 1 or 0}
