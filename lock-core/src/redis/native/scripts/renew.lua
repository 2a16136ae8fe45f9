-- renew: gives holds their lease again. A lease is never shortened (but see lib/renewed). One foreign or
-- broken key spoils only its own answer.
--
-- KEYS[i]    lock   string or zset  its holders: see lib/value
-- ARGV[1]    nonce
-- ARGV[4i-2] owner
-- ARGV[4i-1] kind   its letter
-- ARGV[4i]   mode   read or write: what the owner must hold
-- ARGV[4i+1] lease  ms, or "=" and ms: exactly
--
-- Returns {RENEWED, nonce, for each hold 1 (renewed), 0 (lost) or what was wrong (state unknown)}
local nonce = ARGV[1]

-- The key must live as long as the places of waiters too, which is seen by how long it lives now.
local function live_for(lock, ttl_ms)
  if redis.call('pttl', lock) < ttl_ms then redis.call('pexpire', lock, ttl_ms) end
end

local function renew_in_set(lock, owner, lease_ms, exactly)
  local left_ms = tonumber(redis.call('zscore', lock, owner) or 0) - now_ms()
  if left_ms <= 0 then return 0 end
  local ttl_ms = renewed_ms(left_ms, lease_ms, exactly)
  -- Deletes nothing: Redis lets a script that has begun to write go on at its memory limit.
  redis.call('zrem', lock, '')
  redis.call('zadd', lock, now_ms() + ttl_ms, owner)
  live_for(lock, ttl_ms + RESERVED_MS)
  return 1
end

local function renew(lock, owner, kind, mode, lease_ms, exactly)
  local value = redis.pcall('get', lock)
  if type(value) == 'table' then
    if not string.find(value.err, 'WRONGTYPE') then error(value) end
    if redis.call('zscore', lock, '#kind:' .. kind) == false then return 0 end
    if mode == 'write' and kind ~= 's' then return 0 end
    return renew_in_set(lock, owner, lease_ms, exactly)
  end
  if value == MARK .. kind .. string.sub(mode, 1, 1) .. owner then
    local left_ms = redis.call('pttl', lock)
    local ttl_ms = renewed_ms(left_ms, lease_ms, exactly)
    if ttl_ms ~= left_ms then redis.call('pexpire', lock, ttl_ms) end
    return 1
  end
  local held, before, holder, reads, writes, deadline, line =
    string.match(value or '', '^(lt[12](%a)[rw](%S+) (%d+) (%d+) )(%d+)(.*)$')
  if before ~= kind or holder ~= owner or tonumber(mode == 'read' and reads or writes) == 0 then return 0 end
  local left_ms = tonumber(deadline) - now_ms()
  if left_ms <= 0 then return 0 end
  local ttl_ms = renewed_ms(left_ms, lease_ms, exactly)
  local renewed = held .. string.format('%.0f', now_ms() + ttl_ms) .. line
  local lives_ms = math.max(redis.call('pttl', lock), ttl_ms + RESERVED_MS)
  -- This is never refused at Redis' memory limit, and after it neither is what follows.
  redis.call('pexpire', lock, lives_ms)
  redis.call('set', lock, renewed, 'px', string.format('%.0f', lives_ms))
  return 1
end

local reply = {'RENEWED', nonce}
for at = 1, #KEYS do
  local lease_ms, exactly = parse_lease(ARGV[4 * at + 1])
  local done, renewed = false, 'INVALID'
  if lease_ms then done, renewed = pcall(renew, KEYS[at], ARGV[4 * at - 2], ARGV[4 * at - 1], ARGV[4 * at], lease_ms, exactly) end
  reply[#reply + 1] = done and renewed or failure_of(renewed)
end
return reply
