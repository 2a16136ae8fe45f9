-- transfer: passes the only hold of an owner on to another owner, for as long as it would have lasted.
-- Repeating a call that was done changes nothing.
--
-- KEYS[1] lock     string or zset  its holders: see lib/value
-- KEYS[2] line     zset     places of its waiters -> number of arrival
-- KEYS[3] places   zset     places of its waiters -> epoch ms until which they live
-- ARGV[1] nonce
-- ARGV[2] owner
-- ARGV[3] kind     its letter, that of no semaphore
-- ARGV[4] mode     read or write: what the owner holds
-- ARGV[5] to       the owner that gets it
--
-- Returns {TRANSFERRED, nonce}
--         {LOST, nonce} neither owner has such a hold
--         {INVALID, nonce}
local nonce, owner, kind, mode, to = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5]
if owner == '' or to == '' or kind == 's' or (mode ~= 'read' and mode ~= 'write') then return {'INVALID', nonce} end

local s, failed = read_lock(KEYS, 1, kind)
if failed then return failed end
if not s or s.other_ms then return {'LOST', nonce} end
local has_once = function(of)
  local reads, writes = holds_of(s, of)
  return reads + writes == 1 and (mode == 'read' and reads or writes) == 1
end
if has_once(to) then return {'TRANSFERRED', nonce} end
if not has_once(owner) then return {'LOST', nonce} end

local deadline = s.set and tonumber(redis.call('zscore', s.lock, owner)) or deadline_of(s)
begin_write(s)
let_go(s, owner)
hold(s, to, mode == 'read' and 1 or 0, mode == 'write' and 1 or 0, deadline)
write_lock(s)
return {'TRANSFERRED', nonce}
