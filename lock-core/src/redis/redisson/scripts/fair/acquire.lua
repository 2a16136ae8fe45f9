-- fair/acquire: acquires an owner's hold number `holds` of a fair lock, unless another owner holds it or
-- a live waiter is before the caller in the queue. Repeating the call for a granted hold grants it
-- again. Re-entry bypasses the queue. Dead waiters are dropped from the head; if the lock is free, the
-- new head is woken.
--
-- KEYS[1] lock       hash     owner -> holds
-- KEYS[2] queue      list     waiting owners, next first
-- KEYS[3] deadlines  zset     owner -> epoch ms after which Redisson passes it by
-- KEYS[4] alive      zset     owner -> epoch ms at which the place of this library's waiter ends unless renewed
-- KEYS[5] token      string   last fencing token
-- KEYS[6] channel    prefix   of the waiters' channels channel:owner, which get 0
-- KEYS[7] counter    string   last fencing token of the native wire
-- ARGV[1] nonce
-- ARGV[2] owner
-- ARGV[3] lease   ms
-- ARGV[4] holds   this owner's holds once granted; 1 is the outermost
-- ARGV[5] place_ms  life of the caller's place in the queue unless renewed, 0: takes none
-- ARGV[6] wait_ms   what Redisson adds to the deadline for each of its waiters
-- ARGV[7] token_ttl  ms, 0: no expiry
--
-- Returns {GRANTED, nonce, token ('' on re-entry)}
--         {BUSY, nonce, ms after which to retry unless woken (-1: no limit), 1 if the caller is in the
--          queue}
--         {LOST, nonce} when the owner's earlier holds are gone
--         {WRONG_KIND, nonce} {INVALID, nonce}
local lock, queue, deadlines, alive, token, channel = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6]
local counter = KEYS[7]
local nonce, owner = ARGV[1], ARGV[2]
local lease_ms, holds = parse_int(ARGV[3], 1, MOST_LEASE_MS), parse_int(ARGV[4], 1, MOST_HOLDS)
local place_ms, wait_ms = parse_int(ARGV[5], 0, MOST_LEASE_MS), parse_int(ARGV[6], 1, MOST_LEASE_MS)
local token_ttl_ms = parse_int(ARGV[7], 0, MOST_LEASE_MS)
if not (lease_ms and holds and place_ms and wait_ms and token_ttl_ms) or owner == '' then return {'INVALID', nonce} end

local held, taken = exclusive_holds(lock, owner)
local natively = not held and is_held_natively(lock, 'f')
if natively then held, taken = 0, true end
if not held or not is_fair_lock_queue(queue, deadlines, alive) then return {'WRONG_KIND', nonce} end

if held > 0 then
  if held < holds - 1 then return {'LOST', nonce} end
  local fence = ''
  if holds == 1 then
    fence = next_token(token, counter, token_ttl_ms)
    if not fence then return {'WRONG_KIND', nonce} end
  end
  add_hold(lock, owner, math.max(held, holds), lease_ms)
  return {'GRANTED', nonce, fence}
end
if holds > 1 then return {'LOST', nonce} end

local now = now_ms()
local head, head_left_ms, dead = first_live_waiter(queue, deadlines, alive, now, owner)
local is_first = not head or head == owner
local pause_ms = not taken and is_first and left_to_native_ms(alive)
if not taken and is_first and not pause_ms then
  local fence = next_token(token, counter, token_ttl_ms)
  if not fence then return {'WRONG_KIND', nonce} end
  drop_dead_heads(queue, deadlines, alive, dead)
  leave_queue(queue, deadlines, alive, owner)
  redis.call('hset', lock, owner, '1')
  set_ttl(lock, lease_ms)
  return {'GRANTED', nonce, fence}
end

drop_dead_heads(queue, deadlines, alive, dead)
local left_ms = pause_ms or taken and redis.call('pttl', lock) or head_left_ms
if natively then left_ms = wait_beside_native(lock, alive, is_first, place_ms) end
if place_ms > 0 then
  join_or_renew_queue_place(queue, deadlines, alive, owner, now, taken and math.max(left_ms, 0) or 0, place_ms, wait_ms)
end
local queued = redis.call('zscore', deadlines, owner) and 1 or 0
if not taken and not is_first and dead > 0 then publish(channel .. ':' .. head, '0') end
-- At least 1: with 0 the caller would retry without a pause.
if left_ms ~= -1 or not taken then left_ms = math.max(left_ms, 1) end
return {'BUSY', nonce, left_ms, queued}
