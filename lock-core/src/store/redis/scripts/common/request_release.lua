-- common/request_release: asks the holders of a lock, of whatever kind, to release it. None loses it. The
-- request stands for as long as the longest lease of a holder, as it is now: a holder that listens finds
-- it long before that, and nothing is left of it when the holders have died.
--
-- KEYS[1] lock    hash or string  of the read/write lock, the lock with one holder, the semaphore
-- KEYS[2] asked   set      owners that were asked; also the channel where that is told: 1
-- KEYS[3] leases  zset     of a semaphore's permits
-- ARGV[1] nonce
-- ARGV[2] tag     prefix of every owner's read keys
-- ARGV[3] ttl     ms for which the request stands at least
--
-- Returns {ASKED, nonce, number of holders asked}
--         {WRONG_KIND, nonce} {INVALID, nonce}
local lock, asked, leases = KEYS[1], KEYS[2], KEYS[3]
local nonce, tag, ttl_ms = ARGV[1], ARGV[2], parse_int(ARGV[3], 1, MOST_LEASE_MS)
if not ttl_ms then return {'INVALID', nonce} end

local found = holders_of(lock, leases, tag, now_ms())
local before = redis.pcall('scard', asked)
if not found or type(before) == 'table' then
  if found and not string.find(before.err, 'WRONGTYPE') then return before end
  return {'WRONG_KIND', nonce}
end
if #found.holders > 0 then
  ttl_ms = math.max(ttl_ms, found.left_ms, redis.call('pttl', asked))
  -- Who was asked and holds it no more has no use for this; a lock that is asked for again and again
  -- would collect them.
  if found.complete then redis.call('del', asked) end
  for _, holder in ipairs(found.holders) do redis.call('sadd', asked, holder[1]) end
  set_ttl(asked, ttl_ms)
  publish(asked, '1')
end
return {'ASKED', nonce, #found.holders}
