-- fair/leave: removes waiters from the queue of a fair lock, and releases the lock if one of them was
-- granted it meanwhile. If the lock is free then, dead waiters are dropped from the queue's head, and
-- the next one is woken. Repeating the call wakes that waiter again, and changes nothing else. Works
-- at Redis' memory limit: the first write only deletes.
--
-- KEYS[1] lock       hash     owner -> holds
-- KEYS[2] queue      list     waiting owners, next first
-- KEYS[3] deadlines  zset     owner -> epoch ms after which Redisson passes it by
-- KEYS[4] alive      zset     owner -> epoch ms at which the place of this library's waiter ends
-- KEYS[5] channel    prefix   of the waiters' channels channel:owner, which get 0
-- ARGV[1] nonce
-- ARGV[2..] owners   the waiters to remove
--
-- Returns {LEFT, nonce}
local lock, queue, deadlines, alive, channel = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local nonce = ARGV[1]

local has_queue = is_fair_lock_queue(queue, deadlines, alive)
for at = 2, #ARGV do
  if has_queue then leave_queue(queue, deadlines, alive, ARGV[at]) end
  release_exclusive(lock, ARGV[at], 0)
end
if has_queue then wake_head(lock, queue, deadlines, alive, channel) end
return {'LEFT', nonce}
