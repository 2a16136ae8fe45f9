-- exclusive/acquire: acquires an owner's hold number `holds` of a lock with one holder (re-entrant,
-- non-re-entrant, fenced), unless another owner holds it or another waiter is first. For that waiter a
-- free lock is then reserved. A refused caller takes a place in line. Repeating the call for a granted
-- hold grants it again. A read/write lock of the same name, fair or not, is of another kind.
--
-- KEYS[1] lock    hash    owner -> holds
-- KEYS[2] line    hash    write:owner of each waiter -> since:until
-- KEYS[3] token   string  last fencing token
-- KEYS[4] channel  channel  where releases are published: 0
-- KEYS[5] counter  string  last fencing token of the native wire
-- ARGV[1] nonce
-- ARGV[2] owner
-- ARGV[3] lease   ms
-- ARGV[4] token_ttl  ms, 0: no expiry
-- ARGV[5] place_ms  life of the place that a refused waiter takes or renews, 0: takes none
-- ARGV[6] waited_ms  how long this owner has waited; 0 if missing
-- ARGV[7] yields  ignored here
-- ARGV[8] holds   this owner's holds once granted; 1 (the default) is the outermost
-- ARGV[9] reserved_tokens  tokens to reserve after the granted one; 0 if missing
--
-- Returns {GRANTED, nonce, token ('' on re-entry)}
--         {BUSY, nonce, ms left of the holder's lease or of the first waiter's place (-1: no limit), 1 if
--          the caller has a place}
--         {LOST, nonce} when the owner's earlier holds are gone
--         {WRONG_KIND, nonce} {INVALID, nonce}
local lock, line, token, channel, counter = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local nonce, owner = ARGV[1], ARGV[2]
local lease_ms, token_ttl_ms = parse_int(ARGV[3], 1, MOST_LEASE_MS), parse_int(ARGV[4], 0, MOST_LEASE_MS)
local place_ms, waited_ms = parse_int(ARGV[5], 0, MOST_LEASE_MS), parse_int(ARGV[6] or 0, 0, MOST_LEASE_MS)
local holds = parse_int(ARGV[8] or 1, 1, MOST_HOLDS)
local reserved_tokens = parse_int(ARGV[9] or 0, 0, MOST_HOLDS)
if not (lease_ms and holds and place_ms and waited_ms and token_ttl_ms and reserved_tokens) or owner == '' then return {'INVALID', nonce} end

local me = 'write:' .. owner
local held, taken = exclusive_holds(lock, owner)
local natively = not held and is_held_natively(lock, 'ent')
if natively then held, taken = 0, true end
if not held then return {'WRONG_KIND', nonce} end

if held > 0 then
  if held < holds - 1 then return {'LOST', nonce} end
  local fence = ''
  if holds == 1 then
    fence = next_token(token, counter, token_ttl_ms, reserved_tokens)
    if not fence then return {'WRONG_KIND', nonce} end
  end
  add_hold(lock, owner, math.max(held, holds), lease_ms)
  return {'GRANTED', nonce, fence}
end
if holds > 1 then return {'LOST', nonce} end

local waiters = waiters_in(line)
if waiters.fair then return {'WRONG_KIND', nonce} end
local first = not taken and first_ahead_of(waiters, me, waited_ms)
if taken or first then
  local left_ms = taken and redis.call('pttl', lock) or left_ms_of(first)
  if natively then left_ms = wait_beside_native(lock, line, rank_of(waiters, me, waited_ms) == 0, place_ms) end
  local has_place = take_place(line, waiters, me, waited_ms, place_ms)
  if first and not is_reserved(first) then reserve_for_next(line, true, channel, '0') end
  return {'BUSY', nonce, left_ms, has_place}
end

local pause_ms = left_to_native_ms(line)
if pause_ms then return {'BUSY', nonce, pause_ms, take_place(line, waiters, me, waited_ms, place_ms)} end
local fence = next_token(token, counter, token_ttl_ms, reserved_tokens)
if not fence then return {'WRONG_KIND', nonce} end
redis.call('hset', lock, owner, '1')
set_ttl(lock, lease_ms)
leave_granted(line, waiters, me)
return {'GRANTED', nonce, fence}
