-- leave: takes waiters of one lock out of its line, and from each what it may have been granted meanwhile.
-- What is free then is reserved for the waiters that are next. Repeating the call changes nothing.
--
-- KEYS[1] lock     string or zset  its holders: see lib/value
-- KEYS[2] line     zset     places of its waiters -> number of arrival
-- KEYS[3] places   zset     places of its waiters -> epoch ms until which they live
-- ARGV[1] nonce
-- ARGV[2] kind     its letter
-- ARGV[2i+1] owner  of each waiter
-- ARGV[2i+2] mode   read or write
--
-- Returns {LEFT, nonce} {INVALID, nonce}
local nonce, kind = ARGV[1], ARGV[2]
local s, failed = read_lock(KEYS, 1, kind, true)
if failed then return failed end
if not s then return {'LEFT', nonce} end
if #ARGV % 2 ~= 0 then return {'INVALID', nonce} end

begin_write(s)
local changed = false
for at = 3, #ARGV, 2 do
  local owner, mode = ARGV[at], ARGV[at + 1]
  if leave_line(s, place_of(mode, owner)) then changed = true end
  local reads, writes = holds_of(s, owner)
  if mode == 'read' and reads > 0 or mode == 'write' and writes > 0 then
    if mode == 'read' then reads = 0 else writes = 0 end
    if reads + writes > 0 then hold(s, owner, reads, writes, 0) else let_go(s, owner) end
    changed = true
  end
end
if changed then
  wake_next(s)
  write_lock(s)
end
return {'LEFT', nonce}
