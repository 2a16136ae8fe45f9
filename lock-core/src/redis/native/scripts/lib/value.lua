-- lib/value: the value under a lock's name, and the holders of the lock.
--
-- A string, while at most one owner holds the lock:
--   lt1KM<owner>                               held, and no waiter is known; the key's TTL is the lease
--   lt1KM<owner> <reads> <writes> <deadline>   held until the deadline (epoch ms), with waiters or re-entries
--   lt1K-                                      held by no owner; waiters are in line
--   lt2KM<owner> <reads> <writes> <deadline> <last>|<place> <ends>|..   as the two above, and the line itself:
--   lt2K-<last>|<place> <ends>|..              each place with the time (epoch ms) until which it lives, and
--                                              before them a time when all of them are over
-- K is the letter of the kind, M is r or w. A free lock without waiters has no key, so SET NX takes it;
-- with waiters the key lives as long as their places, so SET NX is refused.
--
-- A sorted set, while several owners read, and for a semaphore's permits: owner -> epoch ms at which
-- its lease ends. Beside them `#kind:K` -> 0, and `#<owner>` -> reads, or permits, of an owner that has
-- more than one: both are less than any time.
--
-- `s` is a lock as it was read: its names, `kind`, and `set`, or `owner` with `reads`, `writes` and
-- `deadline` (nil: as the key's TTL). `waited`: waiters may be in line; `places`: the line, if the value has
-- it (see lib/short_line).
--
-- Something else that holds the lock is never touched: a hash of Redisson's wire, or a text that another
-- library has put there by SET NX PX. Then `other_ms` is what is left of it (-1: not known), and waiters
-- stand in the line beside it. When it goes, the key is absent though they wait, and SET NX passes them;
-- the first of them polls, and from its next refusal on the value says again that they wait.
--
-- Every script that may write all of this is called with all names of the lock, also those under which
-- there is no key: while the slot moves to another node of a cluster, Redis then runs none of them where
-- only a part of the lock is. The others (release_free, renew) write one key, and never delete it to
-- write it anew: where a slot moves away, what is deleted can not be written again.
local MOST_COUNT = 1000000

-- What is left of a lock's key is what is left of its lease. In the last millisecond of a lease Redis says 0,
-- a time to live that it refuses when the lock is written again.
local function deadline_of(s)
  if not s.deadline then s.deadline = now_ms() + math.max(redis.call('pttl', s.lock), 1) end
  return s.deadline
end

-- The ends of leases that are still to come.
local function live_from()
  return string.format('(%.0f', now_ms())
end

-- The letters of the kinds that a lock of Redisson's wire may be of; nil when it is no such lock.
local function kinds_on_redissons_wire(lock)
  local fields = redis.pcall('hlen', lock)
  if type(fields) == 'table' then return nil end
  local mode = redis.call('hget', lock, 'mode')
  if mode == 'read' or mode == 'write' then return 'rq' end
  -- A hash of the application is not a lock: a caller would wait for its end forever.
  if not mode and fields == 1 and parse_int(redis.call('hvals', lock)[1], 1, MOST_COUNT) then return 'enft' end
end

local function read_set(s, kind)
  local first = redis.pcall('zrange', s.lock, 0, 0)
  if first.err and not string.find(first.err, 'WRONGTYPE') then return nil, first end
  local kinds = first.err and kind and kinds_on_redissons_wire(s.lock)
  if kinds and string.find(kinds, kind, 1, true) then
    s.waited, s.other_ms, s.on_redissons_wire = redis.call('exists', s.line) == 1, redis.call('pttl', s.lock), true
    return s
  end
  local stored = string.match(first[1] or '', '^#kind:(%a)$')
  if not stored or (kind and stored ~= kind) then return nil end
  s.kind, s.set, s.waited = stored, true, redis.call('exists', s.line) == 1
  local over = redis.call('zrangebyscore', s.lock, '(' .. MOST_COUNT, string.format('%.0f', now_ms()))
  for _, owner in ipairs(over) do redis.call('zrem', s.lock, owner, '#' .. owner) end
  s.ended = #over
  return s
end

-- Reads the lock whose three names begin at `keys[at]`. Nil when something else stands there, or a lock of
-- another kind; an error besides when Redis refused to look. `beside`: a text of another library is a
-- holder, if it has a TTL.
local function read_lock(keys, at, kind, beside)
  local s = {
    lock = keys[at], line = keys[at + 1], ends = keys[at + 2],
    kind = kind, reads = 0, writes = 0, ended = 0, messages = {},
  }
  local value = redis.pcall('get', s.lock)
  if type(value) == 'table' then
    if not string.find(value.err, 'WRONGTYPE') then return nil, value end
    return read_set(s, kind)
  end
  if not value then
    s.waited = redis.call('exists', s.line) == 1
    return s
  end
  local form, stored, mode, rest = string.match(value, '^(lt[12])(%a)([rw%-])(.*)$')
  local line
  if form == MARK_WITH_LINE then
    rest, line = string.match(rest, '^([^|]-) ?%d+(|.*)$')
    if not line then stored = nil end
  end
  -- Waiters may have come while something else stood here, so the value need not tell of them.
  if line then read_short_line(s, line) else s.waited = redis.call('exists', s.line) == 1 end
  local other_ms = beside and not stored and redis.call('pttl', s.lock) or 0
  if other_ms > 0 then
    s.other_ms, s.text = other_ms, value
    return s
  end
  if not stored or (kind and stored ~= kind) then return nil end
  s.kind = stored
  local owner, reads, writes, deadline = string.match(rest, '^(%S+) (%d+) (%d+) (%d+)$')
  if owner then
    if tonumber(deadline) > now_ms() then
      s.owner, s.reads, s.writes, s.deadline = owner, tonumber(reads), tonumber(writes), tonumber(deadline)
    else
      s.ended = 1
    end
  elseif mode ~= '-' then
    s.owner, s.reads, s.writes = rest, mode == 'r' and 1 or 0, mode == 'w' and 1 or 0
  end
  return s
end

-- An owner's reads and writes.
local function holds_of(s, owner)
  if not s.set then
    if s.owner == owner then return s.reads, s.writes end
    return 0, 0
  end
  if not redis.call('zscore', s.lock, owner) then return 0, 0 end
  local count = tonumber(redis.call('zscore', s.lock, '#' .. owner) or 1)
  if s.kind == 's' then return 0, count end
  return count, 0
end

-- How many owners hold the lock; of a semaphore, how many permits they have.
local function count_holders(s)
  if not s.set then return s.owner and 1 or 0 end
  local count = redis.call('zcount', s.lock, live_from(), '+inf')
  if s.kind ~= 's' then return count end
  local several = redis.call('zrangebyscore', s.lock, 2, MOST_COUNT, 'withscores')
  for at = 2, #several, 2 do count = count + several[at] - 1 end
  return count
end

-- When the last lease ends; nil when none is left.
local function longest_deadline(s)
  if not s.set then return s.owner and deadline_of(s) end
  local last = tonumber(redis.call('zrevrange', s.lock, 0, 0, 'withscores')[2])
  return last > MOST_COUNT and last or nil
end

-- When the first lease of a set ends; nil when none is left.
local function first_deadline(s)
  return s.set and tonumber(redis.call('zrangebyscore', s.lock, live_from(), '+inf', 'withscores', 'limit', 0, 1)[2])
end

local function put_in_set(s, owner, count, deadline)
  redis.call('zadd', s.lock, deadline, owner)
  if count > 1 then redis.call('zadd', s.lock, count, '#' .. owner) else redis.call('zrem', s.lock, '#' .. owner) end
end

-- Gives an owner exactly these holds, for as long as it had them and at least until `deadline`.
local function hold(s, owner, reads, writes, deadline)
  if s.set then
    local before = tonumber(redis.call('zscore', s.lock, owner) or 0)
    if s.kind == 's' or writes == 0 then
      put_in_set(s, owner, reads + writes, math.max(before, deadline))
      return
    end
    -- The last reader of several writes now.
    s.set, s.deadline = nil, before
  elseif s.kind == 's' or (s.owner and s.owner ~= owner) then
    local first, first_reads, first_deadline = s.owner, s.reads, s.owner and deadline_of(s)
    redis.call('del', s.lock)
    redis.call('zadd', s.lock, 0, '#kind:' .. s.kind)
    s.set, s.owner = true, nil
    if first then put_in_set(s, first, first_reads, first_deadline) end
    put_in_set(s, owner, reads + writes, deadline)
    return
  end
  local before = s.owner and deadline_of(s) or s.deadline or 0
  s.owner, s.reads, s.writes, s.deadline = owner, reads, writes, math.max(before, deadline)
end

-- Redis refuses at its memory limit what may need more memory, unless the script has written before. A
-- deletion is never refused, and this one deletes nothing.
local function begin_write(s)
  redis.call('zrem', s.ends, '')
end

-- Takes all holds from an owner.
local function let_go(s, owner)
  if s.set then
    redis.call('zrem', s.lock, owner, '#' .. owner)
  else
    s.owner, s.reads, s.writes, s.deadline = nil, 0, 0, nil
  end
end

-- `line`: the line in the value, '' if it is not there.
local function value_of(s, line)
  local mark = (line == '' and MARK or MARK_WITH_LINE) .. s.kind
  if not s.owner then return mark .. '-' .. line end
  local value = mark .. (s.writes > 0 and 'w' or 'r') .. s.owner
  if not s.waited and s.reads + s.writes == 1 then return value end
  return value .. string.format(' %.0f %.0f %.0f', s.reads, s.writes, s.deadline) .. (line == '' and '' or ' ' .. line)
end

-- Whether this lock's line may be in its value.
local function has_short_line(s)
  return MOST_IN_VALUE > 0 and not s.set and string.find('enrt', s.kind, 1, true)
end

-- Writes the lock as it is now. The key lives as long as the last lease; and where waiters are in
-- line, as long as the last of their places, and for a moment after the last lease, in which the first
-- of them can come; but in a pause there is no key.
local function write_lock(s)
  if s.other_ms then return end
  local last = s.waited and last_place(s)
  s.waited = last and last > now_ms()
  local deadline = longest_deadline(s)
  s.set = s.set and deadline
  local is_paused = not deadline and s.waited and pause_left_ms(s.ends, '#native', true)
  local line = ''
  if s.waited and not is_paused and has_short_line(s) then line = short_line_text(s, last) end
  if s.waited and s.places and line == '' then lengthen_line(s) end
  local lives_until = deadline
  if s.waited then lives_until = math.max(deadline and deadline + RESERVED_MS or 0, last) end
  if deadline and s.set then
    redis.call('pexpire', s.lock, lives_until - now_ms())
  elseif deadline or s.waited and not is_paused then
    redis.call('set', s.lock, value_of(s, line), 'px', string.format('%.0f', lives_until - now_ms()))
  else
    redis.call('del', s.lock)
  end
  -- At Redis' memory limit the lock may not have been written: then no waiter is woken.
  for _, message in ipairs(s.messages) do publish(unpack(message)) end
end

