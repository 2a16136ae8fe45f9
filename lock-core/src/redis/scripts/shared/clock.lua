-- shared/clock: Redis' time in milliseconds, and in microseconds.
local NEVER = 922337203685477 -- the time (ms) of a Redisson lease without end
local function now_us()
  local now = redis.call('time')
  return tonumber(now[1]) * 1000000 + tonumber(now[2])
end

local function now_ms()
  return math.floor(now_us() / 1000)
end

