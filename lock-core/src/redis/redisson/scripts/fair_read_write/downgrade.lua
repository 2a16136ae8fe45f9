-- fair_read_write/downgrade: turns one of an owner's write holds into a read hold. If that was the last
-- write, the lock becomes a read lock, and the readers before the first writer in the queue are woken.
-- Repeating the call changes nothing.
--
-- KEYS[1] lock     hash     mode, owner -> reads, owner:write -> writes
-- KEYS[2] reads    prefix   of the owner's keys reads:1 .. reads:n
-- KEYS[3] channel  channel  where releases are published: 1 for a write
-- KEYS[4] line     zset     mode:owner of each waiter -> number of arrival; see lib/fair_read_write_queue
-- KEYS[5] alive    zset     mode:owner -> epoch ms until which its place lives
-- KEYS[6] turn     prefix   of the waiters' channels turn:owner, which get 1
-- ARGV[1] nonce
-- ARGV[2] owner
-- ARGV[3] lease    ms
-- ARGV[4] read_holds   the owner's reads once downgraded
-- ARGV[5] write_holds  the owner's writes once downgraded
--
-- Returns {RELEASED, nonce}
--         {LOST, nonce} when the owner's hold is gone
--         {INVALID, nonce}
local lock, reads, channel, line, alive, turn = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6]
local nonce, owner, lease_ms, read_holds, write_holds = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5]

local before = mode_of(lock)
-- The called script checks for waiters; no key has this name, so it finds none.
local no_line = reads
local reply = read_write_downgrade({lock, reads, channel, no_line}, {nonce, owner, lease_ms, read_holds, write_holds})
local has_queue = has_fair_queue(line, alive)
if reply[1] == 'RELEASED' and has_queue ~= nil then
  extend_fair_queue(line, redis.call('pttl', lock))
  if mode_of(lock) ~= before then wake_next(lock, line, alive, turn) end
end
return reply
