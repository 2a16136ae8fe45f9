-- lib/set_ttl: sets the TTL (ms) of a key. If that is refused and the key has no TTL, deletes the key
-- and returns the error: a user that has lost the right meanwhile must not leave a lock without expiry.
local function set_ttl(key, ttl_ms)
  if type(redis.pcall('pexpire', key, ttl_ms)) ~= 'table' then return end
  if redis.call('pttl', key) == -1 then redis.call('del', key) end
  redis.call('pexpire', key, ttl_ms)
end

