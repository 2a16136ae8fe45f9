-- common/release_requested: whether a holder was asked to release its lock. Writes nothing.
--
-- KEYS[1] asked  set  owners that were asked; a semaphore's permits in hex
-- ARGV[1] nonce
-- ARGV[2] owner
--
-- Returns {ASKED, nonce, 1 or 0}
local asked = KEYS[1]
local nonce, owner = ARGV[1], ARGV[2]
local is_asked = redis.pcall('sismember', asked, owner)
if type(is_asked) == 'table' then
  if not string.find(is_asked.err, 'WRONGTYPE') then return is_asked end
  is_asked = 0
end
return {'ASKED', nonce, is_asked}
