-- fast_path/release_read: releases the only hold of the only reader if the lock has no waiters in line, or
-- of one of many readers: see read_write/release_read. In every other case it writes nothing, and the
-- full script answers.
--
-- KEYS[1] lock     hash     mode, owner -> reads, owner:write -> writes
-- KEYS[2] reads    prefix   of the owner's keys reads:1 .. reads:n
-- KEYS[3] channel  channel  where releases are published: 0
-- KEYS[4] line     hash     mode:owner of each waiter -> since:until
-- ARGV[1] nonce
-- ARGV[2] owner
-- ARGV[3] extra_arg  if present, the full script answers
--
-- Returns 'FREED nonce' the lock is free now
--         'RELEASED nonce' others read
--         'GONE nonce' the same, but the lease had ended before
local lock, reads, channel, line = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local nonce, owner, extra_arg = ARGV[1], ARGV[2], ARGV[3]
if not extra_arg and owner ~= '' then
  local state = redis.pcall('hmget', lock, 'mode', owner)
  local fields = state[1] == 'read' and state[2] == '1' and redis.call('hlen', lock) or 0
  if fields == 2 and redis.call('exists', line) == 0 then
    local lapsed = redis.call('del', lock, reads .. ':1') == 1
    -- See lib/publish.
    local received = redis.pcall('publish', channel, '0')
    if SHARDED then received = redis.pcall('spublish', channel, '0') end
    return (lapsed and 'GONE ' or 'FREED ') .. nonce .. (type(received) == 'number' and received > 0 and ' ' .. received or '')
  end
  -- The full script compares after deleting the field, so its FEW_FIELDS (9) is 10 here.
  if fields > 10 then
    local lapsed = redis.call('del', reads .. ':1') == 0
    redis.call('hdel', lock, owner)
    return (lapsed and 'GONE ' or 'RELEASED ') .. nonce
  end
end
