-- common/release_requested: returns whether the release of an owner's lock was requested. Writes nothing.
--
-- KEYS[1] requests  set  owners whose release was requested; a semaphore's permits in hex
-- ARGV[1] nonce
-- ARGV[2] owner
--
-- Returns {ASKED, nonce, 1 or 0}
local requests = KEYS[1]
local nonce, owner = ARGV[1], ARGV[2]
local requested = redis.pcall('sismember', requests, owner)
if type(requested) == 'table' then
  if not string.find(requested.err, 'WRONGTYPE') then return requested end
  requested = 0
end
return {'ASKED', nonce, requested}
