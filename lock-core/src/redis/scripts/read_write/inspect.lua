-- read_write/inspect: what stands in Redis for a lock. Writes nothing.
--
-- KEYS[1] lock   hash  mode, owner -> reads, owner:write -> writes
-- ARGV[1] nonce
-- ARGV[2] owner  whose own holds are counted ('' for nobody's)
-- ARGV[3] tag    prefix of every owner's read keys
--
-- Returns {STATE, nonce, mode ('' when free), live read owners, own reads, own writes, ms left (-2: free, -1: no limit)}
--         {WRONG_KIND, nonce}
local lock = KEYS[1]
local nonce, owner, tag = ARGV[1], ARGV[2], ARGV[3]

local state = redis.pcall('hmget', lock, 'mode', owner, owner .. ':write')
if state.err then return string.find(state.err, 'WRONGTYPE') and {'WRONG_KIND', nonce} or state end
local mode, held, writes = state[1], tonumber(state[2] or 0), tonumber(state[3] or 0)
if mode ~= 'read' and mode ~= 'write' then
  if mode or redis.call('exists', lock) == 1 then return {'WRONG_KIND', nonce} end
  return {'STATE', nonce, '', 0, 0, 0, -2}
end
local _, live, _, complete = readers(lock, tag)
if mode == 'read' then
  if live == 0 and complete then return {'STATE', nonce, '', 0, 0, 0, -2} end
  if redis.call('exists', tag .. ':' .. owner .. ':rwlock_timeout:1') == 0 then held = 0 end
end
return {'STATE', nonce, mode, live, held, writes, redis.call('pttl', lock)}
