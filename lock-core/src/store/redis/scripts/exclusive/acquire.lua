-- exclusive/acquire: takes an owner's hold number `holds` of a lock with one holder (plain, fenced, not
-- re-entrant), unless another owner holds it or another waiter is first, for which a free lock is then
-- reserved. A caller that is refused takes a place in line. Asking again for a hold that was granted
-- grants it. A read/write lock of the same name, fair or not, is of another kind.
--
-- KEYS[1] lock    hash    owner -> holds
-- KEYS[2] line    hash    write:owner of each waiter -> since:until
-- KEYS[3] token   string  last fencing token
-- KEYS[4] channel  channel  where releases are told: 0
-- ARGV[1] nonce
-- ARGV[2] owner
-- ARGV[3] lease   ms
-- ARGV[4] token_ttl  ms, 0: for ever
-- ARGV[5] place_ms  life of the place that a refused waiter takes or renews, 0: takes none
-- ARGV[6] waited_ms  for how long this owner has waited; missing: 0
-- ARGV[7] yields  makes no difference here
-- ARGV[8] holds   this owner's holds once granted; 1, or missing, is the outermost
-- ARGV[9] turns  tokens to keep in reserve after the one that is granted; none where it is missing
--
-- Returns {GRANTED, nonce, token ('' on re-entry)}
--         {BUSY, nonce, ms the holder, or the place of the first, still has (-1: no limit), 1 if the caller
--          has a place}
--         {LOST, nonce} when the owner's earlier holds are gone
--         {WRONG_KIND, nonce} {INVALID, nonce}
local lock, line, token, channel = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local nonce, owner = ARGV[1], ARGV[2]
local lease_ms, token_ttl_ms = parse_int(ARGV[3], 1, MOST_LEASE_MS), parse_int(ARGV[4], 0, MOST_LEASE_MS)
local place_ms, waited_ms = parse_int(ARGV[5], 0, MOST_LEASE_MS), parse_int(ARGV[6] or 0, 0, MOST_LEASE_MS)
local holds = parse_int(ARGV[8] or 1, 1, MOST_HOLDS)
local turns = parse_int(ARGV[9] or 0, 0, MOST_HOLDS)
if not (lease_ms and holds and place_ms and waited_ms and token_ttl_ms and turns) or owner == '' then return {'INVALID', nonce} end

local me = 'write:' .. owner
local held, taken = exclusive_holds(lock, owner)
if not held then return {'WRONG_KIND', nonce} end

if held > 0 then
  if held < holds - 1 then return {'LOST', nonce} end
  local fence = ''
  if holds == 1 then
    fence = next_token(token, token_ttl_ms, turns)
    if not fence then return {'WRONG_KIND', nonce} end
  end
  hold_again(lock, owner, math.max(held, holds), lease_ms)
  return {'GRANTED', nonce, fence}
end
if holds > 1 then return {'LOST', nonce} end

local waiters = waiters_in(line)
if waiters.fair then return {'WRONG_KIND', nonce} end
local first = not taken and ahead_of(waiters, me, waited_ms)
if taken or first then
  local left_ms = taken and redis.call('pttl', lock) or left_of(first)
  local stands = stand(line, waiters, me, waited_ms, place_ms)
  if first and not is_reserved(first) then pass_on(line, true, channel, '0') end
  return {'BUSY', nonce, left_ms, stands}
end

local fence = next_token(token, token_ttl_ms, turns)
if not fence then return {'WRONG_KIND', nonce} end
redis.call('hset', lock, owner, '1')
set_ttl(lock, lease_ms)
enter(line, waiters, me)
return {'GRANTED', nonce, fence}
