-- read_write/acquire_read: acquires an owner's read hold number `holds`, unless another owner writes or
-- an earlier writer waits. A free lock is then reserved for that writer; a lock that others read is
-- refused if the caller yields. A refused caller takes a place in line. Repeating the call for a
-- granted hold grants it again. A fair read/write lock of the same name is of another kind.
--
-- KEYS[1] lock    hash    mode, owner -> reads, owner:write -> writes
-- KEYS[2] line    hash    mode:owner of each waiter -> since:until
-- KEYS[3] token   string  last fencing token
-- KEYS[4] reads   prefix  of the owner's keys reads:1 .. reads:holds (strings, one per read hold)
-- KEYS[5] channel  channel  where releases are published: 1
-- KEYS[6] counter  string  last fencing token of the native wire
-- ARGV[1] nonce
-- ARGV[2] owner
-- ARGV[3] lease   ms
-- ARGV[4] token_ttl  ms, 0: no expiry
-- ARGV[5] place_ms  life of the place that a refused reader takes or renews, 0: takes none
-- ARGV[6] waited_ms  how long this owner has waited; 0 if missing
-- ARGV[7] yields  1 (the default): wait behind an earlier writer even while others read; 0: do not
-- ARGV[8] holds   this owner's read holds once granted; 1 (the default) is the outermost
--
-- Returns {GRANTED, nonce, token ('' on re-entry)}
--         {BUSY, nonce, ms left of the writer's lease or of the earlier writer's place (-1: no limit), 1 if
--          the caller has a place}
--         {YIELD, nonce, ms left of the earlier writer's place, 1 if the caller has a place} while
--         others read
--         {LOST, nonce} when the owner's earlier holds are gone
--         {WRONG_KIND, nonce} {INVALID, nonce}
local lock, line, token, reads, channel, counter = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6]
local nonce, owner = ARGV[1], ARGV[2]
local lease_ms, token_ttl_ms = parse_int(ARGV[3], 1, MOST_LEASE_MS), parse_int(ARGV[4], 0, MOST_LEASE_MS)
local place_ms, waited_ms = parse_int(ARGV[5], 0, MOST_LEASE_MS), parse_int(ARGV[6] or 0, 0, MOST_LEASE_MS)
local yields, holds = (ARGV[7] or '1') == '1', parse_int(ARGV[8] or 1, 1, MOST_HOLDS)
if not (lease_ms and holds and place_ms and waited_ms and token_ttl_ms) or owner == '' then return {'INVALID', nonce} end

local me = 'read:' .. owner
local state = fields_named(lock, 'mode', owner, owner .. ':write')
if state.err and is_held_natively(lock, 'r') then return busy_natively(lock, line, me, holds, waited_ms, place_ms, nonce) end
if state.err then return string.find(state.err, 'WRONGTYPE') and {'WRONG_KIND', nonce} or state end
local mode, held, writes = state[1], tonumber(state[2] or 0), tonumber(state[3] or 0)

if mode == 'read' then
  if held > 0 and redis.call('exists', reads .. ':1') == 0 then
    redis.call('hdel', lock, owner)
    held = 0
  end
elseif mode == 'write' then
  if writes == 0 then
    if holds > 1 then return {'LOST', nonce} end
    local waiters = waiters_in(line)
    if waiters.fair then return {'WRONG_KIND', nonce} end
    return {'BUSY', nonce, redis.call('pttl', lock), take_place(line, waiters, me, waited_ms, place_ms)}
  end
elseif mode or not state.free then
  return {'WRONG_KIND', nonce}
end
if held < holds - 1 then return {'LOST', nonce} end

local outermost = holds == 1 and writes == 0
local waiters = outermost and waiters_in(line) or {}
if held == 0 and outermost then
  if waiters.fair then return {'WRONG_KIND', nonce} end
  local first = first_ahead_of(waiters, me, waited_ms)
  if first and (yields or not mode) then
    local has_place = take_place(line, waiters, me, waited_ms, place_ms)
    if not mode and not is_reserved(waiters[1]) then reserve_for_next(line, true, channel, '1') end
    return {mode and 'YIELD' or 'BUSY', nonce, left_ms_of(first), has_place}
  end
  -- Without a channel the fair kind calls, which has looked before.
  local pause_ms = not mode and channel and left_to_native_ms(line)
  if pause_ms then return {'BUSY', nonce, pause_ms, take_place(line, waiters, me, waited_ms, place_ms)} end
end

local fence = ''
if outermost then
  fence = next_token(token, counter, token_ttl_ms)
  if not fence then return {'WRONG_KIND', nonce} end
end
if held > 0 then lease_ms = math.max(lease_ms, redis.call('pttl', reads .. ':1')) end
if mode then
  redis.call('pexpire', lock, math.max(lease_ms, redis.call('pttl', lock)))
  redis.call('hset', lock, owner, math.max(held, holds))
else
  redis.call('hset', lock, 'mode', 'read', owner, holds)
  set_ttl(lock, lease_ms)
end
hold_reads(reads, math.max(held, holds), lease_ms)
leave_granted(line, waiters, me)
return {'GRANTED', nonce, fence}
