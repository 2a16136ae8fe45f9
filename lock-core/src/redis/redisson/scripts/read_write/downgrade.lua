-- read_write/downgrade: turns one of an owner's write holds into a read hold. If that was the last write,
-- the lock becomes a read lock, and the next readers are woken. Repeating the call changes nothing, so
-- a client can also use it to undo an upgrade with an unknown outcome.
--
-- KEYS[1] lock     hash     mode, owner -> reads, owner:write -> writes
-- KEYS[2] reads    prefix   of the owner's keys reads:1 .. reads:n
-- KEYS[3] channel  channel  where releases are published: 1 for a write
-- KEYS[4] line     hash     mode:owner of each waiter -> since:until
-- ARGV[1] nonce
-- ARGV[2] owner
-- ARGV[3] lease    ms
-- ARGV[4] read_holds   the owner's reads once downgraded
-- ARGV[5] write_holds  the owner's writes once downgraded
--
-- Returns {RELEASED, nonce}
--         {LOST, nonce} when the owner's hold is gone
--         {INVALID, nonce}
local lock, reads, channel, line = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local nonce, owner, lease_ms = ARGV[1], ARGV[2], parse_int(ARGV[3], 1, MOST_LEASE_MS)
local read_holds, write_holds = parse_int(ARGV[4], 1, MOST_HOLDS), parse_int(ARGV[5], 0, MOST_HOLDS)
if not (lease_ms and read_holds and write_holds) or owner == '' then return {'INVALID', nonce} end

local own = owner .. ':write'
local state = redis.pcall('hmget', lock, owner, own)
if state.err then return string.find(state.err, 'WRONGTYPE') and {'LOST', nonce} or state end
local held, writes = tonumber(state[1] or 0), tonumber(state[2] or 0)
if writes <= write_holds then
  local kept = writes == write_holds and held >= read_holds
  kept = kept and (writes > 0 or redis.call('exists', reads .. ':1') == 1)
  if not kept then return {'LOST', nonce} end
  -- The caller counts on a whole lease from now on, so the TTL must not be shorter.
  local ttl_ms = math.max(lease_ms, redis.call('pttl', lock))
  redis.call('pexpire', lock, ttl_ms)
  -- With other readers the lock's TTL may be longer than that of the caller's reads.
  if writes == 0 then ttl_ms = math.max(lease_ms, redis.call('pttl', reads .. ':1')) end
  hold_reads(reads, held, ttl_ms)
  return {'RELEASED', nonce}
end

local ttl_ms = math.max(lease_ms, redis.call('pttl', lock))
redis.call('pexpire', lock, ttl_ms)
redis.call('hset', lock, owner, read_holds)
hold_reads(reads, read_holds, ttl_ms)
if write_holds > 0 then
  redis.call('hset', lock, own, write_holds)
else
  redis.call('hdel', lock, own)
  redis.call('hset', lock, 'mode', 'read')
  reserve_for_next(line, false, channel, '1')
end
return {'RELEASED', nonce}
