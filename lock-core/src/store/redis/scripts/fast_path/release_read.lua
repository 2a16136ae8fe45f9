-- fast_path/release_read: gives the only hold of the only reader, or of one in a crowd, back where nobody
-- is known to wait for the lock: see read_write/release_read. Any other call and anything out of the
-- ordinary is left to the whole script, and nothing is written.
--
-- KEYS[1] lock     hash     mode, owner -> reads, owner:write -> writes
-- KEYS[2] reads    prefix   of the owner's keys reads:1 .. reads:n
-- KEYS[3] channel  channel  where releases are told: 0
-- KEYS[4] line     hash     mode:owner of each waiter -> since:until
-- ARGV[1] nonce
-- ARGV[2] owner
-- ARGV[3] anything  left to the whole script
--
-- Returns 'FREED nonce' nobody holds it now
--         'RELEASED nonce' others read
--         'GONE nonce' the same, but its time was over before
local lock, reads, channel, line = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local nonce, owner, says_more = ARGV[1], ARGV[2], ARGV[3]
if not says_more and owner ~= '' then
  local state = redis.pcall('hmget', lock, 'mode', owner)
  local fields = state[1] == 'read' and state[2] == '1' and redis.call('hlen', lock) or 0
  if fields == 2 and redis.call('exists', line) == 0 then
    local lapsed = redis.call('del', lock, reads .. ':1') == 1
    -- As lib/publish.
    redis.pcall('publish', channel, '0')
    if SHARDED then redis.pcall('spublish', channel, '0') end
    return (lapsed and 'GONE ' or 'FREED ') .. nonce
  end
  -- One more than the whole script's FEW_FIELDS, of which one goes.
  if fields > 10 then
    local lapsed = redis.call('del', reads .. ':1') == 0
    redis.call('hdel', lock, owner)
    return (lapsed and 'GONE ' or 'RELEASED ') .. nonce
  end
end
