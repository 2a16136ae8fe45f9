-- lib/clock: Redis' time in milliseconds, and in microseconds, which also as text. One call is one
-- moment, as it is for the keys' ends: Redis is asked once.
local NEVER = 922337203685477 -- the time (ms) of a Redisson lease without end
local moment, moment_text
local function now_us()
  if not moment then
    local now = redis.call('time')
    moment_text = now[1] .. string.sub('00000' .. now[2], -6)
    moment = tonumber(moment_text)
  end
  return moment, moment_text
end

local function now_ms()
  return math.floor((now_us()) / 1000)
end

