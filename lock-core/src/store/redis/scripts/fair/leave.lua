-- fair/leave: takes waiters out of the queue of a fair lock, and from each the lock that it may have
-- been granted meanwhile. If the lock is free then, dead waiters are dropped from the queue's head,
-- and the next one is woken. Asking again changes nothing, but wakes again. Works at Redis' memory
-- limit: the first write only deletes.
--
-- KEYS[1] lock       hash     owner -> holds
-- KEYS[2] queue      list     waiting owners, next first
-- KEYS[3] deadlines  zset     owner -> epoch ms after which Redisson passes it by
-- KEYS[4] alive      zset     owner -> epoch ms until which a waiter of ours lives
-- KEYS[5] channel    prefix   of the waiters' channels channel:owner, which are told 0
-- ARGV[1] nonce
-- ARGV[2..] owners   those that leave
--
-- Returns {LEFT, nonce}
local lock, queue, deadlines, alive, channel = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local nonce = ARGV[1]

local line = is_queue(queue, deadlines, alive)
for at = 2, #ARGV do
  if line then leave_queue(queue, deadlines, alive, ARGV[at]) end
  release_sole(lock, ARGV[at], 0)
end
if line then wake_head(lock, queue, deadlines, alive, channel) end
return {'LEFT', nonce}
