-- lib/wake_next: what a step of a holder means for those in line: who may enter when the lock's mode
-- has changed, and that no line is left of a lock that is free.
local function mode_of(lock)
  local mode = redis.pcall('hget', lock, 'mode')
  return type(mode) == 'string' and mode or ''
end

local function pass_turn(lock, line, alive, turn)
  call_next(mode_of(lock), line, alive, turn)
  if redis.call('exists', lock) == 1 then return end
  local last = redis.call('zrange', alive, -1, -1)[1]
  if redis.call('zcard', line) > 1 and last then
    redis.call('pexpire', line, place_left(alive, last, now_ms()) + LINE_SLACK_MS)
  else
    redis.call('del', line, alive)
  end
end

