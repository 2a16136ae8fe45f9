-- fast_path/release_write: releases the only write hold of a lock that has no waiters in line: see
-- read_write/release_write. In every other case it writes nothing, and the full script answers.
--
-- KEYS[1] lock     hash     mode, owner -> reads, owner:write -> writes
-- KEYS[2] channel  channel  where releases are published: 1
-- KEYS[3] line     hash     mode:owner of each waiter -> since:until
-- ARGV[1] nonce
-- ARGV[2] owner
-- ARGV[3] extra_arg  if present, the full script answers
--
-- Returns 'FREED nonce' the lock is free now
local lock, channel, line = KEYS[1], KEYS[2], KEYS[3]
local nonce, owner, extra_arg = ARGV[1], ARGV[2], ARGV[3]
if not extra_arg and owner ~= '' and redis.call('exists', line) == 0 then
  local state = redis.pcall('hmget', lock, 'mode', owner .. ':write', owner)
  if state[1] == 'write' and state[2] == '1' and not state[3] then
    redis.call('del', lock)
    -- See lib/publish.
    local received = redis.pcall('publish', channel, '1')
    if SHARDED then received = redis.pcall('spublish', channel, '1') end
    return 'FREED ' .. nonce .. (type(received) == 'number' and received > 0 and ' ' .. received or '')
  end
end
