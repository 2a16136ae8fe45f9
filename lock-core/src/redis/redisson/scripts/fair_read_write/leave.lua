-- fair_read_write/leave: removes waiters from the queue, and releases the holds that they may have been
-- granted meanwhile. Waiters that may enter then are woken. Repeating the call changes nothing. Works
-- at Redis' memory limit: the first write only deletes.
--
-- KEYS[1] lock     hash     mode, owner -> reads, owner:write -> writes
-- KEYS[2] channel  channel  where releases are published: 0 for a read, 1 for a write
-- KEYS[3] line     zset     mode:owner of each waiter -> number of arrival; see lib/fair_read_write_queue
-- KEYS[4] alive    zset     mode:owner -> epoch ms until which its place lives
-- KEYS[5] turn     prefix   of the waiters' channels turn:owner, which get 1
-- ARGV[1] nonce
-- ARGV[2..] waiters  mode:owner of the waiters to remove
--
-- Returns {LEFT, nonce}
--         {INVALID, nonce}
local lock, channel, line, alive, turn = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local nonce = ARGV[1]
for at = 2, #ARGV do
  if not string.find(ARGV[at], '^read:.') and not string.find(ARGV[at], '^write:.') then return {'INVALID', nonce} end
end

local has_queue, before, left = has_fair_queue(line, alive), mode_of(lock), false
for at = 2, #ARGV do
  local mode, owner = string.match(ARGV[at], '^(%a+):(.+)$')
  if has_queue and leave_fair_queue(line, alive, ARGV[at]) then left = true end
  local reads, holds = reads_of(line, owner), redis.pcall('hget', lock, mode == 'read' and owner or owner .. ':write')
  -- The called scripts check for waiters; no key has this name, so they find none.
  local no_line = reads
  if type(holds) == 'string' and mode == 'read' then
    read_write_release_read({lock, reads, channel, no_line}, {nonce, owner, '0'})
  elseif type(holds) == 'string' then
    read_write_release_write({lock, channel, no_line}, {nonce, owner, '0'})
  end
end
if has_queue and (left or mode_of(lock) ~= before) then wake_next(lock, line, alive, turn) end
return {'LEFT', nonce}
