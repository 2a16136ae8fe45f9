-- fast_path/release: releases one lock that its owner holds once and whose line is in its value, and reserves
-- it for the waiters that are next; or one of several readers: see release. In every other case it writes
-- nothing, and the full script answers: also where a place is over, and at Redis' memory limit.
--
-- KEYS[1] lock     string or zset  its holders and its line: see lib/value
-- KEYS[2] line     zset     places of its waiters, if they are not in the value
-- KEYS[3] places   zset     until when they live
-- ARGV[1] nonce
-- ARGV[2] value    what is there when the owner holds it once, and no other waits
-- ARGV[3] holds
-- ARGV[4] queued
--
-- Returns {DONE, nonce, RESERVED}
--         {DONE, nonce, HELD} others read
if #KEYS == 3 and ARGV[3] == '0' and ARGV[4] == '0' then
  local value, own = redis.pcall('get', KEYS[1]), MARK_WITH_LINE .. string.sub(ARGV[2], 4)
  own = own .. (string.sub(own, 5, 5) == 'r' and ' 1 0 ' or ' 0 1 ')
  if type(value) == 'string' and string.sub(value, 1, #own) == own then
    local time = redis.call('time')
    local now_text = time[1] .. string.sub('00000' .. time[2], -6, -4)
    -- A time has 13 digits: the deadline, when the last place ends, and behind each place.
    local from = string.find(value, '|', #own, true) or 0
    local is_over, reserved = string.sub(value, from - 27, from - 15) <= now_text, string.format('%d', now_text + RESERVED_MS)
    local woken, to, messages = '', from, {}
    -- The first, if it writes, or all readers before the next writer.
    repeat
      local space = string.find(value, ' ', to, true) or #value
      local place, ends = string.sub(value, to, space), string.sub(value, space + 1, space + 13)
      is_over, to = is_over or ends <= now_text, space + 14
      woken = woken .. place .. (ends < reserved and ends or reserved)
      local tens, ones = string.byte(place, -3, -2)
      messages[#messages + 1] = string.sub(place, 4, (string.find(place, ':', 4, true) or -1) - 1)
      messages[#messages + 1] = string.rep('0', (10 * (tens or 0) + (ones or 0)) % 32 + 1) .. '1'
    until string.sub(place, 2, 2) ~= 'r' or string.sub(value, to, to + 2) ~= '|r:'
    if from > 0 and not is_over and #reserved == 13 and redis.call('exists', KEYS[3]) == 0 then
      local last = to > #value and reserved or string.sub(value, from - 13, from - 1)
      local freed = string.sub(own, 1, 4) .. '-' .. last .. woken .. string.sub(value, to)
      if not redis.pcall('set', KEYS[1], freed, 'px', string.format('%d', last - now_text)).err then
        for at = 1, #messages, 2 do
          redis.pcall(SHARDED and 'spublish' or 'publish', 'lock_wake' .. string.sub(KEYS[2], 10) .. ':' .. messages[at], messages[at + 1])
        end
        return {'DONE', ARGV[1], 'RESERVED'}
      end
    end
  end
  if value and value.err and string.sub(ARGV[2], 1, 5) == MARK .. 'rr' and redis.pcall('zscore', KEYS[1], '#kind:r') == '0' then
    local owner, time = string.sub(ARGV[2], 6), redis.call('time')
    local now = tonumber(time[1] .. string.sub('00000' .. time[2], -6, -4))
    local ends = tonumber(redis.call('zscore', KEYS[1], owner) or 0)
    local last = redis.call('zrevrange', KEYS[1], 0, 1, 'withscores')
    -- The owner holds it once, and another reads; the full script removes readers whose leases are over.
    if ends > now and tonumber(last[4] or 0) > now and not redis.call('zscore', KEYS[1], '#' .. owner)
      and redis.call('zcount', KEYS[1], '(1000000', now) == 0 then
      redis.call('zrem', KEYS[1], owner)
      return {'DONE', ARGV[1], 'HELD'}
    end
  end
end
