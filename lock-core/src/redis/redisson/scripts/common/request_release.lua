-- common/request_release: requests the holders of a lock of any kind to release it. No holder loses its
-- lock. The request is kept for the longest lease that a holder has now: a subscribed holder finds it
-- long before that, and the request expires when the holders have died.
--
-- KEYS[1] lock    hash or string  of the read/write lock, the lock with one holder, the semaphore
-- KEYS[2] requests  set    owners whose release was requested; also the channel, which gets 1
-- KEYS[3] leases  zset     of a semaphore's permits
-- ARGV[1] nonce
-- ARGV[2] tag     prefix of every owner's read keys
-- ARGV[3] ttl     ms for which the request is kept at least
-- ARGV[4] holder  only if this is one of the holders that inspect lists ('': whatever they are)
--
-- Returns {ASKED, nonce, number of holders that were sent the request}
--         {WRONG_KIND, nonce} {INVALID, nonce}
local lock, requests, leases = KEYS[1], KEYS[2], KEYS[3]
local nonce, tag, ttl_ms, holder = ARGV[1], ARGV[2], parse_int(ARGV[3], 1, MOST_LEASE_MS), ARGV[4]
if not ttl_ms then return {'INVALID', nonce} end

local found = holders_of(lock, leases, tag, now_ms())
local before = redis.pcall('scard', requests)
if not found or type(before) == 'table' then
  if found and not string.find(before.err, 'WRONGTYPE') then return before end
  return {'WRONG_KIND', nonce}
end
if not is_held_by(found.holders, holder) then return {'ASKED', nonce, 0} end
if #found.holders > 0 then
  ttl_ms = math.max(ttl_ms, found.left_ms, redis.call('pttl', requests))
  -- Owners of earlier requests that hold the lock no more are removed; otherwise the set of a lock with
  -- many requests would only grow.
  if found.complete then redis.call('del', requests) end
  for _, holder in ipairs(found.holders) do redis.call('sadd', requests, holder[1]) end
  set_ttl(requests, ttl_ms)
  publish(requests, '1')
end
return {'ASKED', nonce, #found.holders}
