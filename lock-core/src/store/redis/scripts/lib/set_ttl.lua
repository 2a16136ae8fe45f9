-- lib/set_ttl: gives a key its end (ms). One that has none and may not be given one goes, with an
-- error: a right that the user has lost meanwhile must not leave a lock that stays for ever.
local function set_ttl(key, ttl_ms)
  if type(redis.pcall('pexpire', key, ttl_ms)) ~= 'table' then return end
  if redis.call('pttl', key) == -1 then redis.call('del', key) end
  redis.call('pexpire', key, ttl_ms)
end

