-- lib/wake_next: after a change of a fair read/write lock, wakes the waiters that may enter now. If the
-- lock is free, sets the queue's TTL, or deletes the queue if it has no waiters.
local function mode_of(lock)
  local mode = redis.pcall('hget', lock, 'mode')
  return type(mode) == 'string' and mode or ''
end

local function wake_next(lock, line, alive, turn)
  wake_admissible(mode_of(lock), line, alive, turn)
  if redis.call('exists', lock) == 1 then return end
  local last = redis.call('zrange', alive, -1, -1)[1]
  if redis.call('zcard', line) > 1 and last then
    redis.call('pexpire', line, place_left_ms(alive, last, now_ms()) + QUEUE_SLACK_MS)
  else
    redis.call('del', line, alive)
  end
end

