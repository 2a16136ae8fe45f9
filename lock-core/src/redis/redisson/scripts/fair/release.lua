-- fair/release: reduces an owner's holds of a fair lock to `holds`, and removes the owner from the queue.
-- If the lock is free then, dead waiters are dropped from the queue's head, and the next one is woken.
-- Repeating the call wakes that waiter again, and changes nothing else. Works at Redis' memory limit:
-- the first write only deletes.
--
-- KEYS[1] lock       hash     owner -> holds
-- KEYS[2] queue      list     waiting owners, next first
-- KEYS[3] deadlines  zset     owner -> epoch ms after which Redisson passes it by
-- KEYS[4] alive      zset     owner -> epoch ms at which the place of this library's waiter ends
-- KEYS[5] channel    prefix   of the waiters' channels channel:owner, which get 0
-- ARGV[1] nonce
-- ARGV[2] owner
-- ARGV[3] holds   the owner's holds once released
-- ARGV[4] queued  1: the owner may be in the queue, and leaves it; 0: it is not
--
-- Returns {FREED, nonce} the lock is free now
--         {RELEASED, nonce} the owner still does
--         {GONE, nonce} the holds had ended before
--         {INVALID, nonce}
local lock, queue, deadlines, alive, channel = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local nonce, owner, holds = ARGV[1], ARGV[2], parse_int(ARGV[3], 0, MOST_HOLDS)
local queued = ARGV[4] == '1'
if not holds or owner == '' then return {'INVALID', nonce} end

local has_queue = is_fair_lock_queue(queue, deadlines, alive)
if queued and has_queue then leave_queue(queue, deadlines, alive, owner) end
local status = release_exclusive(lock, owner, holds)
if has_queue then wake_head(lock, queue, deadlines, alive, channel) end
return {status, nonce}
