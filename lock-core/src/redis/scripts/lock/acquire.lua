-- lock/acquire: takes an owner's hold number `holds` of a lock with one holder (plain, fenced, not
-- re-entrant), unless anybody else holds it or, where the caller yields, another waiter is next.
-- Asking again for a hold that was granted grants it. A read/write lock of the same name, fair or
-- not, is of another kind.
--
-- KEYS[1] lock    hash    owner -> holds
-- KEYS[2] mark    string  since:write:owner of the waiter that is next
-- KEYS[3] token   string  last fencing token
-- ARGV[1] nonce
-- ARGV[2] owner
-- ARGV[3] lease   ms
-- ARGV[4] token_ttl  ms, 0: for ever
-- ARGV[5] mark_ms  life of the mark that a refused waiter leaves, 0: leaves none
-- ARGV[6] waited_ms  for how long this owner has waited; missing: 0
-- ARGV[7] yields  1, or missing: stand back behind another that is next and has waited longer; 0: do not
-- ARGV[8] holds   this owner's holds once granted; 1, or missing, is the outermost
-- ARGV[9] turns  tokens to keep in reserve after the one that is granted; none where it is missing
--
-- Returns {GRANTED, nonce, token ('' on re-entry)}
--         {BUSY, nonce, ms the holder still has (-1: no limit), 1 if the mark is ours}
--         {YIELD, nonce, ms the mark still has}
--         {LOST, nonce} when the owner's earlier holds are gone
--         {WRONG_KIND, nonce} {INVALID, nonce}
local lock, mark, token = KEYS[1], KEYS[2], KEYS[3]
local nonce, owner = ARGV[1], ARGV[2]
local lease_ms, token_ttl_ms = whole(ARGV[3], 1, MOST_LEASE_MS), whole(ARGV[4], 0, MOST_LEASE_MS)
local mark_ms, waited_ms = whole(ARGV[5], 0, MOST_LEASE_MS), whole(ARGV[6] or 0, 0, MOST_LEASE_MS)
local yields, holds = (ARGV[7] or '1') == '1', whole(ARGV[8] or 1, 1, MOST_HOLDS)
local turns = whole(ARGV[9] or 0, 0, MOST_HOLDS)
if not (lease_ms and holds and mark_ms and waited_ms and token_ttl_ms and turns) or owner == '' then return {'INVALID', nonce} end

local me = 'write:' .. owner
local held, taken = sole(lock, owner)
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

local waiting, their_since, fair = next_waiter(mark)
if fair then return {'WRONG_KIND', nonce} end
if taken then
  local marked = leave_mark(mark, me, mark_ms, waited_ms, waiting, their_since)
  return {'BUSY', nonce, redis.call('pttl', lock), marked}
end
if yields and waiting and waiting ~= me and their_since <= waiting_since(waited_ms) then
  return {'YIELD', nonce, redis.call('pttl', mark)}
end

local fence = next_token(token, token_ttl_ms, turns)
if not fence then return {'WRONG_KIND', nonce} end
redis.call('hset', lock, owner, '1')
end_in(lock, lease_ms)
if waiting == me then redis.call('del', mark) end
return {'GRANTED', nonce, fence}
