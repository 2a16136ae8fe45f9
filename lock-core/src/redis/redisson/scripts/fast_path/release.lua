-- fast_path/release: releases the only hold of a lock with one holder that has no waiters in line: see
-- exclusive/release. In every other case it writes nothing, and the full script answers. Of several locks,
-- which are released together, it leaves those as they are, and the client calls the full script for each.
--
-- KEYS[3i-2] lock     hash     owner -> holds
-- KEYS[3i-1] channel  channel  where releases are published: 0
-- KEYS[3i]   line     hash     mode:owner of each waiter -> since:until
-- ARGV[1]    nonce
-- ARGV[i+1]  owner
-- ARGV[3]    extra_arg  if present for one lock, the full script answers
--
-- Returns 'FREED nonce' the lock is free now; behind it the clients that received the message, if any
--         'DONE nonce' all of several locks are free now; behind it 'number:FREED:clients' and, of a lock
--         that the full script must release, 'number:LEFT'
local nonce, others, locks = ARGV[1], '', #KEYS / 3
for at = 1, #ARGV == locks + 1 and locks or 0 do
  local lock, channel, line, owner, status = KEYS[3 * at - 2], KEYS[3 * at - 1], KEYS[3 * at], ARGV[at + 1], 'LEFT'
  if owner ~= '' and redis.pcall('exists', line) == 0 then
    local state = redis.pcall('hmget', lock, 'mode', owner)
    if state[2] == '1' and not state[1] and redis.pcall('del', lock) == 1 then
      -- See lib/publish.
      local received = redis.pcall('publish', channel, '0')
      if SHARDED then received = redis.pcall('spublish', channel, '0') end
      status = type(received) == 'number' and received > 0 and 'FREED:' .. received
      if locks == 1 then return 'FREED ' .. nonce .. (status and ' ' .. received or '') end
    end
  end
  if status then others = others .. ' ' .. at .. ':' .. status end
end
if locks > 1 then return 'DONE ' .. nonce .. others end
