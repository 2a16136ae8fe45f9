-- fast_path/release_write: gives the only hold of a write back where nobody is known to wait for the lock:
-- see read_write/release_write. Any other call and anything out of the ordinary is left to the whole
-- script, and nothing is written.
--
-- KEYS[1] lock     hash     mode, owner -> reads, owner:write -> writes
-- KEYS[2] channel  channel  where releases are told: 1
-- KEYS[3] line     hash     mode:owner of each waiter -> since:until
-- ARGV[1] nonce
-- ARGV[2] owner
-- ARGV[3] anything  left to the whole script
--
-- Returns 'FREED nonce' nobody holds it now
local lock, channel, line = KEYS[1], KEYS[2], KEYS[3]
local nonce, owner, says_more = ARGV[1], ARGV[2], ARGV[3]
if not says_more and owner ~= '' and redis.call('exists', line) == 0 then
  local state = redis.pcall('hmget', lock, 'mode', owner .. ':write', owner)
  if state[1] == 'write' and state[2] == '1' and not state[3] then
    redis.call('del', lock)
    -- As lib/publish.
    redis.pcall('publish', channel, '1')
    if SHARDED then redis.pcall('spublish', channel, '1') end
    return 'FREED ' .. nonce
  end
end
