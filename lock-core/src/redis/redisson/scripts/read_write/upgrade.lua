-- read_write/upgrade: turns one of an owner's read holds into a write hold, unless others read. Readers
-- whose leases have ended are removed. Repeating the call for a granted upgrade grants it again. The
-- owner's remaining reads last as long as the lock.
--
-- KEYS[1] lock    hash    mode, owner -> reads, owner:write -> writes
-- KEYS[2] reads   prefix  of the owner's keys reads:1 .. reads:n
-- KEYS[3] token   string  last fencing token
-- KEYS[4] counter  string  last fencing token of the native wire
-- ARGV[1] nonce
-- ARGV[2] owner
-- ARGV[3] lease   ms
-- ARGV[4] read_holds   the owner's reads once upgraded
-- ARGV[5] write_holds  the owner's writes once upgraded
-- ARGV[6] token_ttl  ms, 0: no expiry
-- ARGV[7] tag     prefix of every owner's read keys
--
-- Returns {GRANTED, nonce, token}
--         {BUSY, nonce, ms left of the longest other reader's lease}
--         {LOST, nonce} when the owner's hold is gone
--         {WRONG_KIND, nonce} {INVALID, nonce}
local lock, reads, token, counter = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local nonce, owner, lease_ms = ARGV[1], ARGV[2], parse_int(ARGV[3], 1, MOST_LEASE_MS)
local read_holds, write_holds = parse_int(ARGV[4], 0, MOST_HOLDS), parse_int(ARGV[5], 1, MOST_HOLDS)
local token_ttl_ms, tag = parse_int(ARGV[6], 0, MOST_LEASE_MS), ARGV[7]
if not (lease_ms and read_holds and write_holds and token_ttl_ms) or owner == '' then return {'INVALID', nonce} end

local state = redis.pcall('hmget', lock, 'mode', owner, owner .. ':write')
if state.err then return string.find(state.err, 'WRONGTYPE') and {'WRONG_KIND', nonce} or state end
local mode, held, writes = state[1], tonumber(state[2] or 0), tonumber(state[3] or 0)

if writes < write_holds then
  if writes < write_holds - 1 or held <= read_holds then return {'LOST', nonce} end
  if writes == 0 and redis.call('exists', reads .. ':1') == 0 then return {'LOST', nonce} end
  if writes == 0 and redis.call('hlen', lock) > 2 then
    local longest_ms, live, dead, complete = other_readers(lock, tag, owner)
    for at = 1, #dead do redis.call('hdel', lock, dead[at]) end
    if live > 0 or not complete then
      return {'BUSY', nonce, complete and longest_ms or redis.call('pttl', lock)}
    end
  end
end

local fence = next_token(token, counter, token_ttl_ms)
if not fence then return {'WRONG_KIND', nonce} end
local ttl_ms = math.max(lease_ms, redis.call('pttl', lock))
redis.call('pexpire', lock, ttl_ms)
for hold = read_holds + 1, held do redis.call('del', reads .. ':' .. hold) end
hold_reads(reads, read_holds, ttl_ms)
redis.call('hset', lock, 'mode', 'write', owner .. ':write', write_holds)
if read_holds > 0 then redis.call('hset', lock, owner, read_holds) else redis.call('hdel', lock, owner) end
return {'GRANTED', nonce, fence}
