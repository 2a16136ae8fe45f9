-- fair_read_write/acquire: acquires an owner's hold number `holds`, unless other holders exclude it or an
-- earlier waiter is first: for a reader an earlier writer, for a writer any earlier waiter. A refused
-- caller takes or renews a place in the queue. Re-entry bypasses the queue. Repeating the call for a
-- granted hold grants it again.
--
-- KEYS[1] lock    hash    mode, owner -> reads, owner:write -> writes
-- KEYS[2] reads   prefix  of the owner's keys reads:1 .. reads:n
-- KEYS[3] line    zset    mode:owner of each waiter -> number of arrival; see lib/fair_read_write_queue
-- KEYS[4] alive   zset    mode:owner -> epoch ms until which its place lives
-- KEYS[5] token   string  last fencing token
-- KEYS[6] turn    prefix  of the waiters' channels turn:owner, which get 1
-- KEYS[7] counter  string  last fencing token of the native wire
-- ARGV[1] nonce
-- ARGV[2] owner
-- ARGV[3] mode    read or write
-- ARGV[4] lease   ms
-- ARGV[5] holds   this owner's holds of that mode once granted; 1 is the outermost
-- ARGV[6] place_ms  life of the place in the queue unless renewed, 0: takes none
-- ARGV[7] token_ttl  ms, 0: no expiry
-- ARGV[8] tag     prefix of every owner's read keys
--
-- Returns {GRANTED, nonce, token ('' on re-entry)}
--         {BUSY, nonce, ms after which to retry unless woken (-1: no limit), 1 if the caller is in the
--          queue}
--         {LOST, nonce} when the owner's earlier holds are gone
--         {WRONG_KIND, nonce} also when clients of this library hold it as a read/write lock that is not fair
--         {INVALID, nonce}
local lock, reads, line, alive, token, turn = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6]
local counter = KEYS[7]
local nonce, owner, mode = ARGV[1], ARGV[2], ARGV[3]
local lease_ms, holds = parse_int(ARGV[4], 1, MOST_LEASE_MS), parse_int(ARGV[5], 1, MOST_HOLDS)
local place_ms, token_ttl_ms = parse_int(ARGV[6], 0, MOST_LEASE_MS), parse_int(ARGV[7], 0, MOST_LEASE_MS)
local tag = ARGV[8]
if not (lease_ms and holds and place_ms and token_ttl_ms) or owner == '' then return {'INVALID', nonce} end
if mode ~= 'read' and mode ~= 'write' then return {'INVALID', nonce} end

local state = redis.pcall('hmget', lock, 'mode', owner, owner .. ':write')
local natively = state.err and is_held_natively(lock, 'q')
if natively then state = {} end
if state.err then return string.find(state.err, 'WRONGTYPE') and {'WRONG_KIND', nonce} or state end
local held_as, own_reads, own_writes = state[1], parse_int(state[2], 1, MOST_HOLDS), parse_int(state[3], 1, MOST_HOLDS)
if held_as ~= 'read' and held_as ~= 'write' and not natively and redis.call('exists', lock) == 1 then return {'WRONG_KIND', nonce} end
own_reads = own_reads and mode == 'read' and (own_writes or redis.call('exists', reads .. ':1') == 1)
local inside = own_writes or own_reads

local has_queue = has_fair_queue(line, alive)
if has_queue == nil then return {'WRONG_KIND', nonce} end
if held_as and not (has_queue or inside) and held_by_own_client(lock, tag, held_as) then return {'WRONG_KIND', nonce} end

local me = mode .. ':' .. owner
local blocked, met_dead = natively, false
if natively and holds > 1 then return {'LOST', nonce} end
if not inside and not natively and holds == 1 and held_as ~= 'write' then
  if mode == 'read' then
    blocked, met_dead = live_writer_before(line, alive, me)
  else
    met_dead = visit_live_waiters(line, alive, first_waiter_rank(line), me, function(waiter)
      blocked = waiter ~= me
      return true
    end)
  end
end

local left_ms = held_as and redis.call('pttl', lock) or -1
local pause_ms = not (held_as or blocked) and holds == 1 and left_to_native_ms(line)
if pause_ms then blocked, left_ms = true, pause_ms end
if not blocked then
  -- The called scripts check for waiters; no key has this name, so they find none.
  local no_line, reply = reads, nil
  if mode == 'read' then
    reply = read_write_acquire_read({lock, no_line, token, reads, nil, counter}, {nonce, owner, lease_ms, token_ttl_ms, '0', '0', '0', holds})
  else
    reply = read_write_acquire_write({lock, no_line, token, nil, counter}, {nonce, owner, lease_ms, token_ttl_ms, '0', '0', '0', holds})
  end
  if reply[1] == 'GRANTED' then
    local rank = redis.call('zrank', line, me)
    if rank then
      leave_fair_queue(line, alive, me)
      if mode == 'read' then wake_reader_at(line, alive, turn, rank) end
    end
    extend_fair_queue(line, redis.call('pttl', lock))
    return reply
  end
  if reply[1] ~= 'BUSY' then return reply end
  left_ms = reply[3]
end

local queued = place_ms > 0
if queued then
  extend_fair_queue(line, math.max(place_ms, redis.call('pttl', lock)))
  redis.call('zadd', alive, string.format('%.0f', now_ms() + place_ms), me)
  if redis.call('pttl', alive) < place_ms then set_ttl(alive, place_ms) end
  if not redis.call('zscore', line, me) then
    local last = redis.call('zrange', line, -1, -1, 'withscores')[2] or 0
    join_fair_queue(line, mode, owner, math.max(last + 1, (now_us())))
  end
end
if met_dead then wake_admissible(held_as, line, alive, turn) end

local before_ms = place_before_left_ms(line, alive, me)
if natively then left_ms = wait_beside_native(lock, line, not before_ms, place_ms) end
if before_ms then left_ms = left_ms < 0 and before_ms or math.min(left_ms, before_ms) end
if left_ms >= 0 then left_ms = math.max(left_ms, 1) end
return {'BUSY', nonce, left_ms, queued and 1 or 0}
