-- fast_path/acquire_write: takes a read/write lock that nobody holds and nobody waits for: see
-- read_write/acquire_write.
--
-- Returns 'GRANTED nonce token'
if fence then
  redis.call('hset', lock, 'mode', 'write', owner .. ':write', '1')
  if redis.pcall('pexpire', lock, lease) == 1 then return 'GRANTED ' .. nonce .. ' ' .. fence end
  -- It must not stay for ever; the whole script says why.
  redis.call('del', lock)
end
