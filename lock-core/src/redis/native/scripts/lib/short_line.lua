-- lib/short_line: the line of a lock while it is in the lock's value: `s.places`, {place, epoch ms until which
-- it lives} in order of arrival. So a contended turn is one value that is read and written. A line longer than
-- MOST_IN_VALUE is in two sorted sets, and so is the line of a lock without such a value (several
-- readers, another library's holder, a pause): see lib/line.

local function read_short_line(s, text)
  s.places = {}
  for place, ends in string.gmatch(text, '|(%S-) (%d+)') do s.places[#s.places + 1] = {place, tonumber(ends)} end
  s.waited = #s.places > 0
end

local function at_place(s, place)
  for at, one in ipairs(s.places) do
    if one[1] == place then return at end
  end
end

-- When the last place ends; nil when none is left.
local function last_place(s)
  if not s.places then return tonumber(redis.call('zrevrange', s.ends, 0, 0, 'withscores')[2]) end
  local last
  for _, one in ipairs(s.places) do last = math.max(last or 0, one[2]) end
  return last
end

-- Moves the line from the value to the sorted sets. The numbers of arrival are below that of the next waiter.
local function lengthen_line(s)
  local number, last = now_us() - #s.places, 0
  for at, one in ipairs(s.places) do
    local place, arrived = one[1], string.format('%.0f', number + at)
    redis.call('zadd', s.line, arrived, place)
    if string.sub(place, 1, 2) == 'w:' then redis.call('zadd', s.line, '-' .. arrived, '-' .. place) end
    redis.call('zadd', s.ends, one[2], place)
    last = math.max(last, one[2])
  end
  for _, key in ipairs({s.line, s.ends}) do
    local lives_ms = math.max(last - now_ms(), 1)
    if redis.call('pttl', key) < lives_ms then redis.call('pexpire', key, lives_ms) end
  end
  s.places = nil
end

-- Moves a line of the sorted sets that has become short into the value.
local function shorten_line(s)
  if redis.call('zcount', s.line, 0, '+inf') > MOST_IN_VALUE / 128 then return end
  s.places = {}
  for _, place in ipairs(redis.call('zrangebyscore', s.line, 0, '+inf')) do
    local ends = tonumber(redis.call('zscore', s.ends, place) or 0)
    if ends > now_ms() then s.places[#s.places + 1] = {place, ends} end
    redis.call('zrem', s.ends, place)
  end
  redis.call('del', s.line)
end

-- The line as the value has it, and before it when its last place ends; '' if it is too long.
local function short_line_text(s, last)
  if not s.places then shorten_line(s) end
  local text = ''
  for _, one in ipairs(s.places or {}) do text = text .. '|' .. one[1] .. string.format(' %.0f', one[2]) end
  return text ~= '' and #text <= MOST_IN_VALUE and string.format('%.0f', last) .. text or ''
end

