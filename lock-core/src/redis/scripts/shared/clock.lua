-- shared/clock: Redis' time in milliseconds, and in microseconds, which also as text.
local NEVER = 922337203685477 -- the time (ms) of a Redisson lease without end
local function now_us()
  local now = redis.call('time')
  local text = now[1] .. string.sub('00000' .. now[2], -6)
  return tonumber(text), text
end

local function now_ms()
  return math.floor((now_us()) / 1000)
end

