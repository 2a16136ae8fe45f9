-- common/force_release: removes all holders of a lock, or releases all permits of a semaphore. Waiters
-- keep their places, and the lock is reserved for the next ones. Every fencing token granted before is
-- stale afterwards. Works at Redis' memory limit: the first write only deletes.
--
-- KEYS[1]  lock       hash or string  of the read/write lock, the lock with one holder, the semaphore
-- KEYS[2]  line       hash or zset  waiters; of a fair read/write lock in order of arrival
-- KEYS[3]  queue      list     waiters of a fair lock
-- KEYS[4]  deadlines  zset     of Redisson's waiters
-- KEYS[5]  alive      zset     of this library's waiters
-- KEYS[6]  token      string   last fencing token
-- KEYS[7]  leases     zset     of a semaphore's permits
-- KEYS[8]  lock_channel  channel  of a lock with one holder, which gets 0; prefix of its waiters' channels
-- KEYS[9]  rw_channel    channel  of a read/write lock, which gets 1
-- KEYS[10] turn          prefix   of the channels of a fair read/write lock's waiters, which get 1
-- KEYS[11] semaphore_channel  channel  where the number of free permits is published
-- KEYS[12] counter  string  last fencing token of the native wire
-- ARGV[1] nonce
-- ARGV[2] tag        prefix of every owner's read keys
-- ARGV[3] token_ttl  ms, 0: no expiry
-- ARGV[4] holder     only if this is one of the holders that inspect lists ('': whatever they are)
--
-- Returns {FREED, nonce, new token ('' for a semaphore)}
--         {GONE, nonce, new token ('' for a semaphore)} the lock was free
--         {GONE, nonce, ''} the owner does not hold it, and nothing is deleted
--         {WRONG_KIND, nonce} {INVALID, nonce} and nothing is deleted
local lock, line, queue, deadlines, alive, token, leases = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6], KEYS[7]
local lock_channel, rw_channel, turn, semaphore_channel, counter = KEYS[8], KEYS[9], KEYS[10], KEYS[11], KEYS[12]
local nonce, tag, token_ttl_ms, holder = ARGV[1], ARGV[2], parse_int(ARGV[3], 0, MOST_LEASE_MS), ARGV[4]
if not token_ttl_ms then return {'INVALID', nonce} end

local now = now_ms()
local found = holders_of(lock, leases, tag, now)
if not found then return {'WRONG_KIND', nonce} end
if not is_held_by(found.holders, holder) then return {'GONE', nonce, ''} end
local status = (#found.holders > 0 or not found.complete) and 'FREED' or 'GONE'

if found.shape == 'semaphore' then
  local free, out = permits_of(lock, leases)
  redis.call('del', leases)
  if free and out > 0 then
    redis.call('incrby', lock, out)
    reserve_permits(line, free + out, semaphore_channel)
  end
  return {status, nonce, ''}
end

-- Deletes nothing: Redis lets a script that has begun to write continue at its memory limit.
redis.call('hdel', lock, '')
local fence = next_token(token, counter, token_ttl_ms)
if not fence then return {'WRONG_KIND', nonce} end

if found.shape == 'read_write' then
  local fields = redis.call('hgetall', lock)
  for at = 1, #fields, 2 do
    local owner = fields[at]
    for hold = 1, math.min(read_count(owner, fields[at + 1]) or 0, MOST_LISTED) do
      redis.call('del', tag .. ':' .. owner .. ':rwlock_timeout:' .. hold)
    end
  end
  redis.call('del', lock)
  reserve_for_next(line, true, rw_channel, '1')
  if has_fair_queue(line, alive) then wake_next(lock, line, alive, turn) end
elseif found.shape == 'exclusive' then
  redis.call('del', lock)
  reserve_for_next(line, true, lock_channel, '0')
  local head = is_fair_lock_queue(queue, deadlines, alive) and first_live_waiter(queue, deadlines, alive, now)
  if head then publish(lock_channel .. ':' .. head, '0') end
end
return {status, nonce, fence}
