-- fast_path/acquire_read: acquires a free read/write lock that has no waiters: see
-- read_write/acquire_read.
--
-- KEYS[4] reads   prefix  of the owner's keys reads:1 .. reads:holds
--
-- Returns 'GRANTED nonce token'
local reads = KEYS[4]
if fence then
  redis.call('hset', lock, 'mode', 'read', owner, '1')
  if redis.pcall('pexpire', lock, lease) == 1 then
    redis.call('set', reads .. ':1', '1', 'px', lease)
    return 'GRANTED ' .. nonce .. ' ' .. fence
  end
  -- A lock without a TTL would never expire. The full script reports the error.
  redis.call('del', lock)
end
