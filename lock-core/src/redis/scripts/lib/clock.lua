-- lib/clock: Redis' time in milliseconds, and in microseconds as a number and as text. TIME is called
-- once per script, because a script sees all keys expire at one instant too.

-- The expiry (ms) of a Redisson lease that never ends.
local NEVER = 922337203685477
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

