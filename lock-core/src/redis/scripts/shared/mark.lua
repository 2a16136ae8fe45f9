-- shared/mark: the mark of the one waiter that is next, `since:mode:owner`. Whoever is refused
-- leaves its mark unless that of one who has waited for longer stands; who has waited for less
-- stands back behind it. So no crowd of readers, no stream of writers and no process that asks again at once can keep
-- a waiter out. The mark has a short life of its own, which its waiter renews.
--
-- The fair read/write lock keeps its line under the mark's name, as a sorted set. Where one stands
-- the lock is of that kind.
local function next_waiter(mark)
  local waiting = redis.pcall('get', mark)
  if not waiting then return nil end
  if type(waiting) == 'table' then
    local line = redis.pcall('zcard', mark)
    return nil, 0, type(line) == 'number' and line > 0
  end
  -- Anything else under the mark's name, or without an end, stops nobody and is left alone.
  if redis.call('pttl', mark) == -1 then return nil, 0 end
  local since, who = string.match(waiting, '^(%d+):(%a+:.+)$')
  return who, tonumber(since or 0)
end

local function waiting_since(waited_ms)
  return now_ms() - waited_ms
end

-- `who` and `their_since`: what next_waiter has said in this call.
local function leave_mark(mark, own, mark_ms, waited_ms, who, their_since)
  if mark_ms == 0 then return 0 end
  local since = waiting_since(waited_ms)
  if their_since and who ~= own and their_since <= since then return 0 end
  redis.call('set', mark, string.format('%.0f:', since) .. own, 'px', mark_ms)
  return 1
end

local function lift_mark(mark, own, channel, message)
  if next_waiter(mark) ~= own then return end
  redis.call('del', mark)
  tell(channel, message)
end

