-- fast_path/release: releases the only hold of a lock with one holder that has no waiters in line: see
-- exclusive/release. In every other case it writes nothing, and the full script answers.
--
-- KEYS[1] lock     hash     owner -> holds
-- KEYS[2] channel  channel  where releases are published: 0
-- KEYS[3] line     hash     mode:owner of each waiter -> since:until
-- ARGV[1] nonce
-- ARGV[2] owner
-- ARGV[3] extra_arg  if present, the full script answers
--
-- Returns 'FREED nonce' the lock is free now
local lock, channel, line = KEYS[1], KEYS[2], KEYS[3]
local nonce, owner, extra_arg = ARGV[1], ARGV[2], ARGV[3]
if not extra_arg and owner ~= '' and redis.call('exists', line) == 0 then
  local state = redis.pcall('hmget', lock, 'mode', owner)
  if state[2] == '1' and not state[1] then
    redis.call('del', lock)
    -- See lib/publish.
    local received = redis.pcall('publish', channel, '0')
    if SHARDED then received = redis.pcall('spublish', channel, '0') end
    return 'FREED ' .. nonce .. (type(received) == 'number' and received > 0 and ' ' .. received or '')
  end
end
