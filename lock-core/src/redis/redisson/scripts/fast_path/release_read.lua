-- fast_path/release_read: releases the only hold of the only reader if the lock has no waiters in line, or
-- of one of many readers: see read_write/release_read. In every other case it writes nothing, and the
-- full script answers. Of several locks, which are released together, it leaves those as they are, and the
-- client calls the full script for each.
--
-- KEYS[4i-3] lock     hash     mode, owner -> reads, owner:write -> writes
-- KEYS[4i-2] reads    prefix   of the owner's keys reads:1 .. reads:n
-- KEYS[4i-1] channel  channel  where releases are published: 0
-- KEYS[4i]   line     hash     mode:owner of each waiter -> since:until
-- ARGV[1]    nonce
-- ARGV[i+1]  owner
-- ARGV[3]    extra_arg  if present for one lock, the full script answers
--
-- Returns 'FREED nonce' or 'DONE nonce': see fast_path/release
--         'RELEASED nonce' others read; of several locks 'number:RELEASED'
--         'GONE nonce' the same or FREED, but the lease had ended before; of several locks 'number:GONE'
local nonce, others, locks = ARGV[1], '', #KEYS / 4
for at = 1, #ARGV == locks + 1 and locks or 0 do
  local lock, reads, channel, line, owner = KEYS[4 * at - 3], KEYS[4 * at - 2], KEYS[4 * at - 1], KEYS[4 * at], ARGV[at + 1]
  local state, status, received = redis.pcall('hmget', lock, 'mode', owner), nil, nil
  local fields = owner ~= '' and state[1] == 'read' and state[2] == '1' and redis.call('hlen', lock) or 0
  if fields == 2 and redis.pcall('exists', line) == 0 then
    local lapsed = redis.call('del', lock, reads .. ':1') == 1
    -- See lib/publish.
    received = redis.pcall('publish', channel, '0')
    if SHARDED then received = redis.pcall('spublish', channel, '0') end
    received = type(received) == 'number' and received > 0 and received
    status = lapsed and 'GONE' or 'FREED'
  end
  -- The full script compares after deleting the field, so its FEW_FIELDS (9) is 10 here.
  if fields > 10 then
    local lapsed = redis.call('del', reads .. ':1') == 0
    redis.call('hdel', lock, owner)
    status = lapsed and 'GONE' or 'RELEASED'
  end
  if locks == 1 then
    if status then return status .. ' ' .. nonce .. (received and ' ' .. received or '') end
  elseif status ~= 'FREED' or received then
    others = others .. ' ' .. at .. ':' .. (status or 'LEFT') .. (received and ':' .. received or '')
  end
end
if locks > 1 then return 'DONE ' .. nonce .. others end
