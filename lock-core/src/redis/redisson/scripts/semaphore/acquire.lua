-- semaphore/acquire: acquires permits, if so many are free beside those that earlier waiters want.
-- Leases that have ended are removed first. A refused caller takes a place in line. Repeating the call
-- for granted permits grants them again; their lease is never shortened. Creates the semaphore if it
-- does not exist.
--
-- KEYS[1] permits  string   free permits
-- KEYS[2] leases   zset     permit -> epoch ms at which its lease ends
-- KEYS[3] channel  channel  where the number of free permits is published
-- KEYS[4] line     hash     write:permit of each waiter -> since:until
-- ARGV[1] nonce
-- ARGV[2] permit   the owner, 16 bytes
-- ARGV[3] lease    ms
-- ARGV[4] total    permits of a semaphore that does not exist yet, including acquired ones
-- ARGV[5] place_ms  life of the place that a refused caller takes or renews, 0 (the default): takes none
-- ARGV[6] waited_ms  how long the caller has waited; 0 if missing
-- ARGV[7] wanted   permits to acquire, all or none; 1 if missing
--
-- Returns {GRANTED, nonce, '', other}
--         {BUSY, nonce, ms until the next lease or the first waiter's place ends (-1: none does), 1 if the
--          caller has a place, other}
--         {WRONG_KIND, nonce} {INVALID, nonce}
-- other    the number of permits; missing if it is `total`
local permits, leases, channel, line = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local nonce, permit = ARGV[1], ARGV[2]
local lease_ms, total = parse_int(ARGV[3], 1, MOST_LEASE_MS), parse_int(ARGV[4], 0, MOST_PERMITS)
local place_ms, waited_ms = parse_int(ARGV[5] or 0, 0, MOST_LEASE_MS), parse_int(ARGV[6] or 0, 0, MOST_LEASE_MS)
local wanted = parse_int(ARGV[7] or 1, 1, MOST_HOLDS)
if not (lease_ms and total and place_ms and waited_ms and wanted) or permit == '' then return {'INVALID', nonce} end

local free, out = permits_of(permits, leases)
if free == false then return {'WRONG_KIND', nonce} end

local now = now_ms()
local ends = tonumber(redis.call('zscore', leases, permit) or 0)
if ends > now then
  redis.call('persist', leases)
  local until_ms = math.max(ends, now + lease_ms)
  each_permit(permit, permits_held(leases, permit), function(each) redis.call('zadd', leases, until_ms, each) end)
  return {'GRANTED', nonce, ''}
end

local other = free and free + out ~= total and free + out or nil
local over = redis.call('zcount', leases, '-inf', now)
local before = free
free = free and free + over or total - (out - over)
local me, waiters = 'write:' .. permit, waiters_in(line)
local granted = free >= wanted_ahead_of(waiters, me, waited_ms) + wanted
if granted then
  each_permit(permit, wanted, function(each) redis.call('zadd', leases, now + lease_ms, each) end)
end
-- The caller's own ended lease was replaced above, so it is not removed here.
if over > 0 then remove_expired_leases(leases, now) end
local left = granted and free - wanted or free
if left ~= before then redis.call('set', permits, string.format('%.0f', left)) end
if granted then leave_granted(line, waiters, me) end
local has_place = granted and 0 or take_place(line, waiters, me, waited_ms, place_ms, wanted)
local next_ones = left > 0 and #waiters > 0 and waiters_in(line) or waiters
if left > 0 then
  local first = next_ones[1]
  local is_due = first and first.permits <= left and not is_reserved(first)
  -- Redisson waits for a message when the semaphore does not exist.
  if over > 0 or not before or is_due then reserve_permits(line, left, channel) end
end
if granted then return {'GRANTED', nonce, '', other} end
-- A caller that is first, and wants more than is free, waits for the next lease to end.
local ahead = left > 0 and next_ones[1]
if ahead and ahead.name ~= me then return {'BUSY', nonce, left_ms_of(ahead), has_place, other} end

local next_end = tonumber(redis.call('zrange', leases, 0, 0, 'withscores')[2] or NEVER)
return {'BUSY', nonce, next_end < NEVER and math.max(next_end - now, 1) or -1, has_place, other}
