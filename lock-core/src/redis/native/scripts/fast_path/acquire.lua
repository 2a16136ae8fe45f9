-- fast_path/acquire: the turn of a contended lock whose line is in its value: takes the lock that is reserved
-- for the caller, or takes or renews a place in line; and joins other readers if none waits: see acquire. In
-- every other case it writes nothing, and the full script answers: also where the first place is over, because
-- others are woken then. A place further behind that is over stays until it is the first.
--
-- Times (epoch ms) have 13 digits, so they are found by their width and compared as text.
--
-- KEYS[1] lock     string or zset  its holders and its line: see lib/value
-- KEYS[2] line     zset     places of its waiters, if they are not in the value
-- KEYS[3] places   zset     until when they live
-- KEYS[4] counter  string   last fencing token
-- ARGV[1] nonce
-- ARGV[2] owner
-- ARGV[3] kind     its letter
-- ARGV[4] mode     read or write
-- ARGV[5] lease    ms
-- ARGV[6] holds
-- ARGV[7] place    ms, life of the place that a refused caller takes or renews, 0: takes none
-- ARGV[9] more     tokens to keep in reserve after the one that is granted
-- ARGV[10] floor   the greatest token that the caller knows
-- ARGV[11] total
-- ARGV[12] beside
--
-- Returns 'GRANTED nonce token'
--         'BUSY nonce left stands'
local owner, kind, letter, holds = ARGV[2], ARGV[3], 'w', ' 0 1 '
if ARGV[4] == 'read' then letter, holds = 'r', ' 1 0 ' end
local MOST_TOKEN = 2 ^ 53 - 1
local lease, place, more, floor, total = ARGV[5], ARGV[7], ARGV[9], ARGV[10], ARGV[11]
local value = (kind == 'e' or kind == 'r' or kind == 'n' or kind == 't') and (letter == 'r' or ARGV[4] == 'write')
  and owner ~= '' and ARGV[6] == '1' and ARGV[12] == '0'
  -- Numbers as clients send them, and none that is too large.
  and string.find(lease .. ' ' .. place .. ' ' .. more .. ' ' .. floor .. ' ' .. total, '^[1-9]%d* %d+ %d+ %d+ %d+$')
  and #lease <= 10 and #place <= 10 and #more <= 6 and #total <= 6
  and (#floor < 16 or #floor == 16 and floor <= '9007199254740991')
  and redis.pcall('get', KEYS[1])
if type(value) == 'string' then
  local form, mode = string.sub(value, 1, 4), string.sub(value, 5, 5)
  local from = string.find(value, '|', 6, true) or #value + 1
  -- Of a lock that is held, `held` is the value up to the deadline.
  local held, deadline, last, ttl_ms
  if form == MARK_WITH_LINE .. kind and string.sub(value, from - 14, from - 14) == (mode == '-' and '-' or ' ') then
    last = string.sub(value, from - 13, from - 1)
    if mode ~= '-' then held, deadline = string.sub(value, 1, from - 15), string.sub(value, from - 27, from - 15) end
  elseif form == MARK .. kind and (mode == 'r' or mode == 'w') and not string.find(value, ' ', 6, true) then
    -- The first waiter behind a holder, if no line is elsewhere.
    held = MARK_WITH_LINE .. string.sub(value, 4) .. (mode == 'r' and ' 1 0 ' or ' 0 1 ')
    if redis.call('exists', KEYS[2], KEYS[3]) == 0 then last, ttl_ms = '', redis.call('pttl', KEYS[1]) end
  end
  if last and not (held and (mode == 'r' and letter == 'r' or string.sub(held, 6, 6 + #owner) == owner .. ' ')) then
    local time = redis.call('time')
    local now_text = time[1] .. string.sub('00000' .. time[2], -6, -4)
    local now = tonumber(now_text)
    if ttl_ms then
      deadline = string.format('%d', now + math.max(ttl_ms, 1))
      held = held .. deadline
    end
    local own = '|' .. letter .. ':' .. owner .. ' '
    local at = string.find(value, own, from, true)
    local behind = at and at + #own + 13
    -- A reader lets the writers before it pass, a writer all.
    local ahead = letter == 'r' and string.find(value, '|w:', from, true) or letter == 'w' and from < #value and from
    if ahead and at and at <= ahead then ahead = false end
    -- When the first place ends, if it is another's, and the one that is ahead.
    local first_ends, ahead_ends = false, false
    if at ~= from and from < #value then
      local space = string.find(value, ' ', from, true)
      first_ends = string.sub(value, space + 1, space + 13)
    end
    if ahead then
      local space = string.find(value, ' ', ahead, true)
      ahead_ends = string.sub(value, space + 1, space + 13)
    end
    if first_ends and first_ends <= now_text or ahead_ends and ahead_ends <= now_text or deadline and deadline <= now_text then
      last = nil
    elseif not held and not ahead and at then
      local line = string.sub(value, from, at - 1) .. string.sub(value, behind)
      local stored = redis.pcall('get', KEYS[4])
      stored = type(stored) ~= 'table' and tonumber(stored or 0)
      local token = stored and stored >= 0 and stored % 1 == 0 and math.max(stored + 1, floor + 1, time[1] * 1000000 + time[2])
      -- A reader that was not woken yet is woken by the reader before it.
      local wakes = letter == 'r' and string.sub(line, 1, 3) == '|r:'
      if token and token + more <= MOST_TOKEN and not wakes and redis.call('exists', KEYS[3]) == 0 then
        local drawn, ends = string.format('%d', token), string.format('%d', now + lease)
        if #drawn == 16 and #ends == 13 then
          redis.call('set', KEYS[4], more == '0' and drawn or string.format('%d', token + more))
          if line == '' then
            redis.call('set', KEYS[1], MARK .. kind .. letter .. owner, 'px', lease)
          else
            redis.call('set', KEYS[1], MARK_WITH_LINE .. kind .. letter .. owner .. holds .. ends .. ' ' .. last .. line,
              'px', string.format('%d', math.max(lease + RESERVED_MS, last - now)))
          end
          return 'GRANTED ' .. ARGV[1] .. ' ' .. drawn
        end
      end
    elseif (held or ahead and (not first_ends or first_ends - now <= RESERVED_MS))
      and (at or #value - from + #own + 14 <= MOST_IN_VALUE) then
      local left_ms = (deadline or ahead_ends) - now
      if place == '0' then return 'BUSY ' .. ARGV[1] .. string.format(' %d 0', left_ms) end
      if not held and letter == 'w' and left_ms <= RESERVED_MS then
        -- Writers behind the first try one after the other, should it not come. About as many are before the
        -- caller as places of this length.
        local before = math.floor(((at or #value + 1) - from) / (#own + 13))
        left_ms = left_ms + RESERVED_MS * math.max(before - 1, 0)
      end
      local ends = string.format('%d', now + place)
      if #ends == 13 then
        if ends > last then last = ends end
        local lives_ms = math.max(deadline and deadline + RESERVED_MS - now or 0, last - now)
        redis.call('set', KEYS[1],
          (held and held .. ' ' or form .. '-') .. last .. string.sub(value, from, (at or 0) - 1) .. own .. ends .. (at and string.sub(value, behind) or ''),
          'px', string.format('%d', lives_ms))
        return 'BUSY ' .. ARGV[1] .. string.format(' %d 1', left_ms)
      end
    end
  end
elseif value and value.err and kind == 'r' and letter == 'r' and redis.pcall('zscore', KEYS[1], '#kind:r') == '0'
  and redis.call('exists', KEYS[2]) == 0 and not redis.call('zscore', KEYS[1], owner) then
  -- Others read, and none waits.
  local time = redis.call('time')
  local now = tonumber(time[1] .. string.sub('00000' .. time[2], -6, -4))
  local last = tonumber(redis.call('zrevrange', KEYS[1], 0, 0, 'withscores')[2])
  local stored = redis.pcall('get', KEYS[4])
  stored = type(stored) ~= 'table' and tonumber(stored or 0)
  local token = stored and stored >= 0 and stored % 1 == 0 and math.max(stored + 1, floor + 1, time[1] * 1000000 + time[2])
  -- The full script removes readers whose leases are over.
  if last > now and token and token + more <= MOST_TOKEN and redis.call('zcount', KEYS[1], '(1000000', now) == 0 then
    redis.call('set', KEYS[4], string.format('%.0f', token + more))
    redis.call('zadd', KEYS[1], now + lease, owner)
    if now + lease > last then redis.call('pexpire', KEYS[1], lease) end
    return 'GRANTED ' .. ARGV[1] .. string.format(' %.0f', token)
  end
end
