-- read_write/acquire_write: acquires an owner's write hold number `holds`, unless another owner holds the
-- lock or an earlier waiter is first. A free lock is then reserved for the next waiters. A refused
-- caller takes a place in line. Readers whose leases have ended are removed. Repeating the call for a
-- granted hold grants it again. The owner's reads inside its write last as long as the lock. A fair
-- read/write lock of the same name is of another kind.
--
-- KEYS[1] lock    hash    mode, owner -> reads, owner:write -> writes
-- KEYS[2] line    hash    mode:owner of each waiter -> since:until
-- KEYS[3] token   string  last fencing token
-- KEYS[4] channel  channel  where releases are published: 1
-- KEYS[5] counter  string  last fencing token of the native wire
-- ARGV[1] nonce
-- ARGV[2] owner
-- ARGV[3] lease   ms
-- ARGV[4] token_ttl  ms, 0: no expiry
-- ARGV[5] place_ms  life of the place that a refused writer takes or renews, 0: takes none
-- ARGV[6] waited_ms  how long this owner has waited; 0 if missing
-- ARGV[7] yields  ignored here
-- ARGV[8] holds   this owner's write holds once granted; 1 (the default) is the outermost
-- ARGV[9] reserved_tokens  tokens to reserve after the granted one; 0 if missing
--
-- Returns {GRANTED, nonce, token ('' on re-entry)}
--         {BUSY, nonce, ms left of the longest holder's lease or of the first waiter's place (-1: no limit),
--          1 if the caller has a place}
--         {LOST, nonce} when the owner's earlier holds are gone
--         {WRONG_KIND, nonce} {INVALID, nonce}
local lock, line, token, channel, counter = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local nonce, owner = ARGV[1], ARGV[2]
local lease_ms, token_ttl_ms = parse_int(ARGV[3], 1, MOST_LEASE_MS), parse_int(ARGV[4], 0, MOST_LEASE_MS)
local place_ms, waited_ms = parse_int(ARGV[5], 0, MOST_LEASE_MS), parse_int(ARGV[6] or 0, 0, MOST_LEASE_MS)
local holds = parse_int(ARGV[8] or 1, 1, MOST_HOLDS)
local reserved_tokens = parse_int(ARGV[9] or 0, 0, MOST_HOLDS)
if not (lease_ms and holds and place_ms and waited_ms and token_ttl_ms and reserved_tokens) or owner == '' then return {'INVALID', nonce} end

local own, me = owner .. ':write', 'write:' .. owner
local state = fields_named(lock, 'mode', own, owner)
if state.err and is_held_natively(lock, 'r') then return busy_natively(lock, line, me, holds, waited_ms, place_ms, nonce) end
if state.err then return string.find(state.err, 'WRONGTYPE') and {'WRONG_KIND', nonce} or state end
local mode, held, reading = state[1], tonumber(state[2] or 0), tonumber(state[3] or 0)

if mode == 'write' and held > 0 then
  if held < holds - 1 then return {'LOST', nonce} end
  local fence = ''
  if holds == 1 then
    fence = next_token(token, counter, token_ttl_ms, reserved_tokens)
    if not fence then return {'WRONG_KIND', nonce} end
  end
  local ttl_ms = math.max(lease_ms, redis.call('pttl', lock))
  redis.call('pexpire', lock, ttl_ms)
  redis.call('hset', lock, own, math.max(held, holds))
  hold_reads(reads_of(token, owner), reading, ttl_ms)
  return {'GRANTED', nonce, fence}
end
if mode and mode ~= 'read' and mode ~= 'write' then return {'WRONG_KIND', nonce} end
if not mode and not state.free then return {'WRONG_KIND', nonce} end
if holds > 1 then return {'LOST', nonce} end
local waiters = waiters_in(line)
if waiters.fair then return {'WRONG_KIND', nonce} end
local function refused(left_ms)
  return {'BUSY', nonce, left_ms, take_place(line, waiters, me, waited_ms, place_ms)}
end
if mode == 'write' then return refused(redis.call('pttl', lock)) end

if mode == 'read' then
  local longest_ms, live, dead, complete = other_readers(lock, tag_of(token))
  for at = 1, #dead do redis.call('hdel', lock, dead[at]) end
  if live > 0 or not complete then
    if complete and redis.call('pttl', lock) > longest_ms then redis.call('pexpire', lock, math.max(longest_ms, 1)) end
    local left_ms = complete and longest_ms or redis.call('pttl', lock)
    return refused(left_ms)
  end
  redis.call('del', lock)
end

local first = first_ahead_of(waiters, me, waited_ms)
if first then
  local reply = refused(left_ms_of(first))
  if not is_reserved(first) then reserve_for_next(line, true, channel, '1') end
  return reply
end

-- Without a channel the fair kind calls, which has looked before.
local pause_ms = channel and left_to_native_ms(line)
if pause_ms then return refused(pause_ms) end
local fence = next_token(token, counter, token_ttl_ms, reserved_tokens)
if not fence then return {'WRONG_KIND', nonce} end
redis.call('hset', lock, 'mode', 'write', own, '1')
set_ttl(lock, lease_ms)
leave_granted(line, waiters, me)
return {'GRANTED', nonce, fence}
