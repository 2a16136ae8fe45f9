-- release: brings owners' holds of locks down to a number, each on a lock of its own, and takes the owners
-- out of the line. A lock that is free then is reserved for the waiters that are next. Repeating the
-- call changes nothing. Works at Redis' memory limit: the first write only deletes. One foreign or broken
-- key spoils only its own answer.
--
-- KEYS[3i-2 .. 3i]   lock, line, places: as in acquire
-- ARGV[1] nonce
-- ARGV[3i-1] value   what stands there when the owner holds it once, in the mode to be released, and no
--                    other waits: see lib/value
-- ARGV[3i]   holds   the owner's holds of that mode once released
-- ARGV[3i+1] queued  1: the owner may stand in line
--
-- Returns {DONE, nonce, for each lock one of
--          FREED     the owner was its last holder (of a permit: it held it)
--          RESERVED  the same, and it is reserved for waiters; of a fair kind and of a permit it says FREED
--          HELD      the lock is still held, by the owner or others
--          GONE      the holds had ended before
--          or what was wrong}
local function release(at, value, holds, queued)
  local kind, letter, owner = string.match(value, '^lt1(%a)([rw])(.+)$')
  if not kind or not holds then return 'INVALID' end
  local s, failed = read_lock(KEYS, at, kind, true)
  if failed then return failed.err end
  if not s then return 'GONE' end
  local changed = queued and leave_line(s, letter .. ':' .. owner)
  -- What has ended is written anew below, also where nothing is released.
  if changed or s.ended > 0 then begin_write(s) end
  local reads, writes = holds_of(s, owner)
  local held = letter == 'r' and reads or writes
  local status, opens = 'HELD', changed
  if (letter == 'r' and reads + writes or held) == 0 or held < holds then
    status = 'GONE'
  elseif held > holds then
    changed = true
    begin_write(s)
    if letter == 'r' then reads = holds else writes = holds end
    if reads + writes > 0 then hold(s, owner, reads, writes, 0) else let_go(s, owner) end
    opens = opens or letter == 'w' and holds == 0
    if kind == 's' or count_holders(s) == 0 then status, opens = 'FREED', true end
  end
  if opens or s.ended > 0 then wake_next(s) end
  if changed or s.ended > 0 then write_lock(s) end
  return status == 'FREED' and s.waited and kind ~= 's' and not is_fair(kind) and 'RESERVED' or status
end

local answers = {'DONE', ARGV[1]}
for at = 1, #KEYS / 3 do
  local holds, queued = parse_int(ARGV[3 * at], 0, MOST_HOLDS), ARGV[3 * at + 1] == '1'
  local done, status = pcall(release, 3 * at - 2, ARGV[3 * at - 1], holds, queued)
  answers[at + 2] = done and status or (type(status) == 'table' and status.err or tostring(status))
end
return answers
