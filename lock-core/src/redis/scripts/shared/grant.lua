-- shared/grant: how a release gives the lock to the next waiter. Those who stand by (see
-- shared/stand_by) are told on their client's channel, and have the lock for a first lease of their own
-- choice, which they must renew. Whoever wakes by itself (a reader, a waiter of Redisson) gets its turn
-- when one that has waited for longer left the mark, and after so many grants in a row at the latest:
-- then the lock is free, and where Redisson waits too ours stand back for a moment, behind a mark of
-- nobody.
local MOST_IN_A_ROW = 16

-- Who stands by and has waited longest; those whose time is over are forgotten, and `own`, who has just
-- released. As a rule nobody is asked for after it, so the others are not kept or sorted.
local function longest_standing_by(line, own)
  local fields = redis.pcall('hgetall', line)
  if fields.err or #fields == 0 then return nil end
  local now, longest = now_ms(), nil
  for at = 1, #fields, 2 do
    local owner = fields[at]
    local since, ends, ask, turns, lease = string.match(fields[at + 1], '^(%d+):(%d+):(%d+):(%d+):(%d+)$')
    since = tonumber(since)
    if since and tonumber(ends) > now and owner ~= own then
      if not longest or since < longest.since or since == longest.since and owner < longest.owner then
        longest = {owner = owner, since = since, ask = ask, turns = turns, lease = lease}
      end
    else
      redis.call('hdel', line, owner)
    end
  end
  return longest
end

local function stand_apart(mark, apart_ms)
  local who, since = next_waiter(mark)
  if apart_ms > 0 and (who or not since) then redis.call('set', mark, '0:write:nobody', 'px', apart_ms) end
end

-- Whether somebody listens to this channel here. What PUBLISH counts comes too late to go on to the
-- next: one who listens to a replica is not counted and hears it all the same.
local function is_listened_to(channel)
  local listeners = redis.pcall('pubsub', 'numsub', channel)
  return not listeners.err and listeners[2] > 0
end

-- Gives the lock, which nobody holds any more, to the next; says whether it did. `row` counts the
-- grants before this one, nil: nobody is looked for. `enter` makes an owner its holder. Where the call
-- has `looked` at the mark, `who` is next `since` then.
local function grant_next(lock, line, mark, token, own, row, token_ttl_ms, apart_ms, enter, looked, who, since)
  if not row then return false end
  if row >= MOST_IN_A_ROW then
    stand_apart(mark, apart_ms or 0)
    return false
  end
  local waiter = longest_standing_by(line, own)
  if waiter and not looked then who, since = next_waiter(mark) end
  while waiter do
    local is_next = who == 'write:' .. waiter.owner
    if since and not is_next and since < waiter.since then return false end
    local channel = 'lock_granted:' .. (string.match(waiter.owner, '^(.*):') or '')
    local hears = is_listened_to(channel)
    local fence = hears and next_token(token, token_ttl_ms, tonumber(waiter.turns))
    if hears and not fence then return false end
    if is_next then
      redis.call('del', mark)
      who, since = nil, nil
    end
    redis.call('hdel', line, waiter.owner)
    if hears then
      local told = tell(channel, string.format('%s %s %s %d', waiter.owner, waiter.ask, fence, row + 1))
      if type(told) ~= 'number' then return false end
      enter(waiter.owner)
      end_in(lock, whole(waiter.lease, 1, MOST_LEASE_MS) or 1)
      return true
    end
    waiter = longest_standing_by(line, own)
  end
  return false
end

