-- fast_path/acquire: acquires a free lock with one holder that has no waiters: see exclusive/acquire.
--
-- Returns 'GRANTED nonce token'
if fence then
  redis.call('hset', lock, owner, '1')
  if redis.pcall('pexpire', lock, lease) == 1 then return 'GRANTED ' .. nonce .. ' ' .. fence end
  -- A lock without a TTL would never expire. The full script reports the error.
  redis.call('del', lock)
end
