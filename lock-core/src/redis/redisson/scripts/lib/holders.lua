-- lib/holders: the holders of a lock of any kind. Writes nothing.
local MOST_LISTED = 1024

local function hex(bytes)
  return (string.gsub(bytes, '.', function(byte) return string.format('%02x', string.byte(byte)) end))
end

local function permit_holders(leases, free, now)
  local found = {shape = 'semaphore', mode = '', left_ms = -2, holders = {}, complete = true}
  found.free = free + redis.call('zcount', leases, '-inf', now)
  local live = redis.call('zrangebyscore', leases, '(' .. string.format('%.0f', now), '+inf', 'withscores', 'limit', 0, MOST_LISTED + 1)
  local of_owner = {}
  for at = 1, #live, 2 do
    local owner, ends = string.sub(live[at], 1, 16), tonumber(live[at + 1])
    local left_ms, known = ends < NEVER and ends - now or -1, of_owner[owner]
    if known then
      known[3] = known[3] + 1
    elseif #found.holders == MOST_LISTED then
      found.complete = false
      break
    else
      of_owner[owner] = {hex(owner), 0, 1, left_ms}
      found.holders[#found.holders + 1] = of_owner[owner]
    end
    found.left_ms = left_ms
  end
  if #live > 2 * MOST_LISTED then found.complete = false end
  return found
end

local function read_write_holders(lock, tag, mode)
  local fields, complete = all_fields(lock)
  local found = {shape = 'read_write', mode = mode, left_ms = redis.call('pttl', lock), holders = {}, complete = complete}
  local writes, writer = 0, nil
  for at = 1, #fields, 2 do
    if mode == 'write' and string.sub(fields[at], -6) == ':write' then
      writer, writes = string.sub(fields[at], 1, -7), tonumber(fields[at + 1]) or 0
    end
  end
  if writer then found.holders[1] = {writer, 0, writes, found.left_ms} end
  for at = 1, #fields, 2 do
    local owner = fields[at]
    local reads = read_count(owner, fields[at + 1])
    if reads and owner == writer then
      found.holders[1][2] = reads
    elseif reads then
      local left_ms = read_left_ms(lock, tag, owner, reads)
      if left_ms >= 0 and #found.holders == MOST_LISTED then
        found.complete = false
      elseif left_ms >= 0 then
        found.holders[#found.holders + 1] = {owner, reads, 0, left_ms}
      end
    end
  end
  if #found.holders == 0 and found.complete then found.mode, found.left_ms = '', -2 end
  return found
end

-- Returns the shape (free, read_write, exclusive or semaphore), the mode, left_ms (-2: free, -1: no
-- expiry), the free permits of a semaphore, the holders {owner, reads, writes, ms left}, and whether
-- the list is complete. Nil when the key is not a lock.
local function holders_of(lock, leases, tag, now)
  local type_of = redis.call('type', lock).ok
  if type_of == 'string' or type_of == 'none' then
    local free, out = permits_of(lock, leases)
    if free == false and type_of == 'string' then return nil end
    if free or (out or 0) > 0 then return permit_holders(leases, free or 0, now) end
    return {shape = 'free', mode = '', left_ms = -2, holders = {}, complete = true}
  end
  if type_of ~= 'hash' then return nil end
  local mode = redis.call('hget', lock, 'mode')
  if mode == 'read' or mode == 'write' then return read_write_holders(lock, tag, mode) end
  if mode or not exclusive_holds(lock, '') then return nil end
  local owner, holds = unpack(redis.call('hgetall', lock))
  local left_ms = redis.call('pttl', lock)
  return {shape = 'exclusive', mode = 'write', left_ms = left_ms, holders = {{owner, 0, tonumber(holds), left_ms}}, complete = true}
end

-- Whether this owner, if it matters at all ('' does not), is one of these holders.
local function is_held_by(holders, owner)
  local is_held = owner == ''
  for _, holder in ipairs(holders) do is_held = is_held or holder[1] == owner end
  return is_held
end

