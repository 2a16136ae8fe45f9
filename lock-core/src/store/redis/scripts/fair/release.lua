-- fair/release: brings an owner's holds of a fair lock down to `holds`, and takes it out of the
-- queue. When nobody holds the lock then, waiters that have died are dropped from the queue's head,
-- and who is next is told. Asking again changes nothing, but tells again. Works at Redis' memory
-- limit: the first write only deletes.
--
-- KEYS[1] lock       hash     owner -> holds
-- KEYS[2] queue      list     waiting owners, next first
-- KEYS[3] deadlines  zset     owner -> epoch ms after which Redisson passes it by
-- KEYS[4] alive      zset     owner -> epoch ms until which a waiter of ours lives
-- KEYS[5] channel    prefix   of the waiters' channels channel:owner, which are told 0
-- ARGV[1] nonce
-- ARGV[2] owner
-- ARGV[3] holds   the owner's holds once released
-- ARGV[4] queued  1: the owner may stand in the queue, and leaves it; 0: it does not
--
-- Returns {FREED, nonce} nobody holds the lock now
--         {RELEASED, nonce} the owner still does
--         {GONE, nonce} the holds had ended before
--         {INVALID, nonce}
local lock, queue, deadlines, alive, channel = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local nonce, owner, holds = ARGV[1], ARGV[2], parse_int(ARGV[3], 0, MOST_HOLDS)
local queued = ARGV[4] == '1'
if not holds or owner == '' then return {'INVALID', nonce} end

local line = is_queue(queue, deadlines, alive)
if queued and line then leave_queue(queue, deadlines, alive, owner) end
local status = release_sole(lock, owner, holds)
if line then wake_head(lock, queue, deadlines, alive, channel) end
return {status, nonce}
