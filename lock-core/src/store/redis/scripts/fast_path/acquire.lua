-- fast_path/acquire: takes a lock with one holder that nobody holds and nobody waits for: see exclusive/acquire.
--
-- Returns 'GRANTED nonce token'
if fence then
  redis.call('hset', lock, owner, '1')
  if redis.pcall('pexpire', lock, lease) == 1 then return 'GRANTED ' .. nonce .. ' ' .. fence end
  -- It must not stay for ever; the whole script says why.
  redis.call('del', lock)
end
