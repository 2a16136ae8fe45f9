-- fair_read_write/upgrade: read_write/upgrade of a fair lock; keeps the queue as long as the lock.
--
-- KEYS[1] lock    hash    mode, owner -> reads, owner:write -> writes
-- KEYS[2] reads   prefix  of the owner's keys reads:1 .. reads:n
-- KEYS[3] token   string  last fencing token
-- KEYS[4] line    zset    mode:owner of each waiter -> number of arrival; see lib/fair_read_write_queue
-- KEYS[5] counter  string  last fencing token of the native wire
-- ARGV[1] nonce
-- ARGV[2] owner
-- ARGV[3] lease   ms
-- ARGV[4] read_holds   the owner's reads once upgraded
-- ARGV[5] write_holds  the owner's writes once upgraded
-- ARGV[6] token_ttl  ms, 0: no expiry
-- ARGV[7] tag     prefix of every owner's read keys
--
-- Returns {GRANTED, nonce, token}
--         {BUSY, nonce, ms left of the longest other reader's lease}
--         {LOST, nonce} when the owner's hold is gone
--         {WRONG_KIND, nonce} {INVALID, nonce}
local lock, reads, token, line, counter = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local nonce, owner, lease_ms, read_holds = ARGV[1], ARGV[2], ARGV[3], ARGV[4]
local write_holds, token_ttl_ms, tag = ARGV[5], ARGV[6], ARGV[7]

local reply = read_write_upgrade(
  {lock, reads, token, counter}, {nonce, owner, lease_ms, read_holds, write_holds, token_ttl_ms, tag})
if reply[1] == 'GRANTED' and has_fair_queue(line, line) ~= nil then extend_fair_queue(line, redis.call('pttl', lock)) end
return reply
