-- lib/pause: pauses in which the clients of one wire leave a contended lock free, for clients that do not
-- stand in their line: those of the other wire, and those of other libraries. Without them such a client
-- would wait for as long as the line is not empty. A member of `places`, the places of the native wire's
-- waiters, has the time (epoch ms, negated: a place has a positive one) at which the last pause ended. It
-- goes with the key, a place's life after the last waiter of the one or the other has come.
local POLL_MS, PAUSE_MS, PAUSE_EVERY_MS = 50, 200, 1000

-- Requests pauses of the clients of a wire, for as long as a place lives.
local function request_pauses(places, wire, place_ms)
  redis.call('zadd', places, 'nx', '-' .. string.format('%.0f', now_ms()), wire)
  if redis.call('pttl', places) < place_ms then redis.call('pexpire', places, place_ms) end
end

-- Returns the time (ms) left of the pause of a wire's clients; nil without one. Begins one that is due,
-- if the caller may. A pause that is too long is older than a change of Redis' clock.
local function pause_left_ms(places, wire, begins)
  local ended = redis.pcall('zscore', places, wire)
  if type(ended) ~= 'string' then return nil end
  local left_ms = -tonumber(ended) - now_ms()
  if left_ms > 0 and left_ms <= PAUSE_MS then return left_ms end
  if not begins or left_ms <= 0 and left_ms > -PAUSE_EVERY_MS then return nil end
  redis.call('zadd', places, '-' .. string.format('%.0f', now_ms() + PAUSE_MS), wire)
  return PAUSE_MS
end

