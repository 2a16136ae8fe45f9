-- request_release: requests that the holders of a lock, of whatever kind, release it. None loses it. The
-- request stands for as long as the longest lease of a holder, as it is now: a holder that listens finds
-- it long before that, and nothing is left of it when the holders have died.
--
-- KEYS[1] lock     string or zset  its holders: see lib/value
-- KEYS[2] line     zset     places of its waiters -> number of arrival
-- KEYS[3] places   zset     places of its waiters -> epoch ms until which they live
-- KEYS[4] asked    set      owners that were requested; also the channel of that message: 1
-- ARGV[1] nonce
-- ARGV[2] ttl      ms for which the request stands at least
-- ARGV[3] holder   only if this is one of the holders that inspect lists ('': whatever they are)
--
-- Returns {ASKED, nonce, number of holders that are requested}
--         {WRONG_KIND, nonce} {INVALID, nonce}
local asked, nonce, ttl_ms = KEYS[4], ARGV[1], parse_int(ARGV[2], 1, MOST_LEASE_MS)
if not ttl_ms then return {'INVALID', nonce} end
local s, failed = read_lock(KEYS, 1)
if failed then return failed end
local before = redis.pcall('scard', asked)
if not s or type(before) == 'table' then
  if s and not string.find(before.err, 'WRONGTYPE') then return before end
  return {'WRONG_KIND', nonce}
end
local holders, complete = list_holders(s)
if not is_held_by(holders, ARGV[3]) then return {'ASKED', nonce, 0} end
if #holders > 0 then
  ttl_ms = math.max(ttl_ms, longest_deadline(s) - now_ms(), redis.call('pttl', asked))
  -- An owner that was requested before and holds it no more would stay here forever, at a lock that is
  -- requested again and again.
  if complete then redis.call('del', asked) end
  for _, holder in ipairs(holders) do redis.call('sadd', asked, holder[1]) end
  redis.call('pexpire', asked, ttl_ms)
  publish(asked, '1')
end
return {'ASKED', nonce, #holders}
