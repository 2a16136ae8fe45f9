-- acquire: takes an owner's hold number `holds` of a lock of any kind, or of a semaphore as many permits
-- at once, unless other owners or waiters that came before are in the way. A caller that is refused takes a place in line. Re-entry passes the
-- line. A hold that was granted is granted again when the call is repeated.
--
-- KEYS[1] lock     string or zset  its holders: see lib/value
-- KEYS[2] line     zset     places of its waiters -> number of arrival
-- KEYS[3] places   zset     places of its waiters -> epoch ms until which they live
-- KEYS[4] counter  string   last fencing token
-- ARGV[1] nonce
-- ARGV[2] owner
-- ARGV[3] kind     its letter
-- ARGV[4] mode     read or write
-- ARGV[5] lease    ms
-- ARGV[6] holds    this owner's holds of that mode once granted, 1 is the outermost; or its permits
-- ARGV[7] place    ms, life of the place that a refused caller takes or renews, 0: takes none
-- ARGV[8] yields   1: a reader stands back, while others read, behind a writer that came before
-- ARGV[9] more     tokens to keep in reserve after the one that is granted
-- ARGV[10] floor   the greatest token that the caller knows
-- ARGV[11] total   permits of the semaphore, in this caller's number
-- ARGV[12] beside  1: other libraries take this lock by SET NX
-- ARGV[13] waited  ms that the caller has waited, here or at another lock: its order in the line of a semaphore
--
-- Returns 'GRANTED nonce token' (no token on re-entry and for a permit)
--         'BUSY nonce left stands' (ms until it may be free without a message, -1: not known; 1: the caller has a place)
--         'YIELD nonce left stands' others read, and a writer is ahead
--         'LOST nonce' the owner's earlier holds are gone
--         'WRONG_KIND nonce' 'INVALID nonce'
local nonce, owner, kind, mode = ARGV[1], ARGV[2], ARGV[3], ARGV[4]
local lease_ms, holds = parse_int(ARGV[5], 1, MOST_LEASE_MS), parse_int(ARGV[6], 1, MOST_HOLDS)
local place_ms, yields = parse_int(ARGV[7], 0, MOST_LEASE_MS), ARGV[8] == '1'
local more, floor = parse_int(ARGV[9], 0, MOST_HOLDS), parse_int(ARGV[10], 0, MOST_TOKEN)
local total, beside = parse_int(ARGV[11], 0, MOST_HOLDS), ARGV[12] == '1' and kind ~= 's'
local waited_ms = parse_int(ARGV[13], 0, MOST_LEASE_MS)
if not (lease_ms and holds and place_ms and more and floor and total and waited_ms) or owner == '' then return 'INVALID ' .. nonce end
if mode ~= 'read' and mode ~= 'write' then return 'INVALID ' .. nonce end
local reads = mode == 'read'

local s, failed = read_lock(KEYS, 1, kind, beside)
if failed then return failed end
if not s then return 'WRONG_KIND ' .. nonce end
if kind == 's' then s.waited_since = (now_us()) - 1000 * waited_ms end
local own = place_of(mode, owner)
if s.other_ms then
  if holds > 1 then return 'LOST ' .. nonce end
  drop_dead(s, own)
  local left_ms, stands = s.other_ms, stand(s, own, place_ms, 1, total)
  if stands == 1 then
    request_pauses(s.ends, s.on_redissons_wire and '#redisson' or '#native', place_ms)
    -- A release there wakes no waiter here.
    if first_places(s, 1)[1] == own then left_ms = math.min(left_ms, POLL_MS) end
  end
  return 'BUSY ' .. nonce .. string.format(' %.0f ', left_ms) .. stands
end

local own_reads, own_writes = holds_of(s, owner)
local inside = own_reads + own_writes > 0
local others = count_holders(s) - (kind == 's' and own_writes or inside and 1 or 0)
local met_dead = drop_dead(s, own)

-- What other holders leave room for.
local fits
if kind == 's' then
  fits = inside or others + holds <= total
elseif reads then
  fits = own_writes > 0 or s.writes == 0
else
  fits = own_writes > 0 or count_holders(s) == 0
end
if kind ~= 's' and (inside or holds > 1) then
  if not fits and holds > 1 or (reads and own_reads or own_writes) < holds - 1 then return 'LOST ' .. nonce end
end

local ahead
if kind == 's' then
  local free = total - others
  if not inside and free > 0 and free < wanted_ahead(s, own, free) + holds then
    fits, ahead = false, first_places(s, 1)[1]
    if ahead == own then ahead = nil end
  end
elseif fits and not inside then
  ahead = place_ahead(s, own)
  if ahead and reads and others > 0 and not yields and not is_fair(kind) then ahead = nil end
end

local pause_ms = fits and not ahead and s.waited and count_holders(s) == 0 and pause_left_ms(s.ends, '#native')
if fits and not ahead and not pause_ms then
  local fence = ''
  local due = kind ~= 's' and holds == 1 and not (reads and own_writes > 0)
  if due then
    fence = next_token(KEYS[4], floor, more)
    if not fence then return 'WRONG_KIND ' .. nonce end
  end
  local left = leave_line(s, own)
  if reads then own_reads = math.max(own_reads, holds) else own_writes = math.max(own_writes, holds) end
  hold(s, owner, own_reads, own_writes, now_ms() + lease_ms)
  if met_dead or s.ended > 0 then wake_next(s) elseif left and reads then wake_reader_behind(s) end
  write_lock(s)
  return 'GRANTED ' .. nonce .. ' ' .. fence
end

local left_ms = pause_ms or ahead and left_of(s, ahead)
if not left_ms then
  local deadline = kind == 's' and first_deadline(s) or kind ~= 's' and longest_deadline(s)
  left_ms = deadline and deadline - now_ms()
end
local stands = stand(s, own, place_ms, holds, total)
if ahead and stands == 1 and kind ~= 's' and not reads and left_ms <= RESERVED_MS then
  left_ms = left_ms + RESERVED_MS * count_between(s, own)
end
if beside and stands == 1 then request_pauses(s.ends, '#native', place_ms) end
-- What became free without a release, because a lease or a place ended, is reserved for the next.
local first = s.waited and first_places(s, 1)[1]
local is_due = ahead and first and not is_fair(kind) and left_of(s, first) > RESERVED_MS
local opens = met_dead or s.ended > 0 or is_due
if opens then wake_next(s) end
-- A refusal that changes nothing is a read: nothing for replicas and for the append-only file.
if opens or stands == 1 then write_lock(s) end
local status = ahead and reads and others > 0 and not is_fair(kind) and 'YIELD ' or 'BUSY '
return status .. nonce .. string.format(' %.0f ', left_ms and math.max(left_ms, 1) or -1) .. stands
