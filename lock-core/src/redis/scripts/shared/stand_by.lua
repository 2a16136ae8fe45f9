-- shared/stand_by: writers that are refused and hear of grants stand by in a hash,
-- `owner -> since:until:ask:turns:lease`, for shared/grant, which no acquire needs.
local MOST_STANDING_BY = 16

-- Whether it stands by now. `ask` is `ask:turns:lease`: the number of the try, the tokens to keep in
-- reserve, the first lease (ms).
local function stand_by(line, owner, ask, life_ms, waited_ms)
  local standing = redis.pcall('hlen', line)
  if type(standing) == 'table' or life_ms == 0 then return false end
  if standing >= MOST_STANDING_BY and not redis.call('hget', line, owner) then return false end
  local now = now_ms()
  redis.call('hset', line, owner, string.format('%.0f:%.0f:', now - waited_ms, now + life_ms) .. ask)
  if redis.call('pttl', line) < life_ms then end_in(line, life_ms) end
  return true
end

local function stand_by_no_more(line, owner)
  redis.pcall('hdel', line, owner)
end

