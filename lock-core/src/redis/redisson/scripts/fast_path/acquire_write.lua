-- fast_path/acquire_write: acquires a free read/write lock that has no waiters: see
-- read_write/acquire_write.
--
-- Returns 'GRANTED nonce token'
if fence then
  redis.call('hset', lock, 'mode', 'write', owner .. ':write', '1')
  if redis.pcall('pexpire', lock, lease) == 1 then return 'GRANTED ' .. nonce .. ' ' .. fence end
  -- A lock without a TTL would never expire. The full script reports the error.
  redis.call('del', lock)
end
