-- lib/holders: the holders of a lock, for inspection. Writes nothing.
local MOST_LISTED = 1024

-- {owner, reads, writes, ms left} of each, and whether these are all. Of another library's holder the
-- beginning of its text, which may be anything.
local function list_holders(s)
  if s.text then
    return {{(string.gsub(string.sub(s.text, 1, 128), '[^\32-\126]', '?')), 0, 1, s.other_ms}}, true
  end
  if not s.set then
    if not s.owner then return {}, true end
    return {{s.owner, s.reads, s.writes, deadline_of(s) - now_ms()}}, true
  end
  local holders = {}
  local live = redis.call('zrangebyscore', s.lock, live_from(), '+inf', 'withscores', 'limit', 0, MOST_LISTED + 1)
  for at = 1, math.min(#live, 2 * MOST_LISTED), 2 do
    local reads, writes = holds_of(s, live[at])
    holders[#holders + 1] = {live[at], reads, writes, live[at + 1] - now_ms()}
  end
  return holders, #live <= 2 * MOST_LISTED
end

-- Whether this owner, if it matters at all ('' does not), is one of these holders.
local function is_held_by(holders, owner)
  local is_held = owner == ''
  for _, holder in ipairs(holders) do is_held = is_held or holder[1] == owner end
  return is_held
end

