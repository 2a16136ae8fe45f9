-- common/missing_rights: finds the commands, keys and channels of the scripts that the user has no right
-- to, and the commands that were renamed. Runs every command in a form that changes nothing, on names that no lock has; the keys that two
-- commands create are deleted at once. Works on any node of a cluster, because Redis checks rights
-- before slots.
--
-- ARGV[1] nonce
-- ARGV[2] lock   a name that no lock has
-- ARGV[3] count  number of names of other keys that follow, before the channels
--
-- Returns {RIGHTS, nonce, refused commands, numbers of the refused names (0: lock), numbers of the
--          refused channels, commands that the server does not know}, both numbered in the order of
--          the arguments
local nonce, lock, count = ARGV[1], ARGV[2], tonumber(ARGV[3])
local names = {unpack(ARGV, 4)}

local commands, keys, channels, unknown, denied = {}, {}, {}, {}, {}

-- Returns what the user has no right to: 'command', 'key' or 'channel'; nil if the error is another one.
-- The text of the error differs between versions of Redis.
local function refused_part(answer)
  local why = type(answer) == 'table' and answer.err or ''
  if not (string.find(why, 'user executing the script') or string.find(why, 'ACL failure') or string.find(why, 'NOPERM')) then
    return nil
  end
  if string.find(why, ' run ', 1, true) then return 'command' end
  return string.find(why, 'channel', 1, true) and 'channel' or 'key'
end

local function deny(command)
  if not denied[command] then commands[#commands + 1] = command end
  denied[command] = true
end

local function probe(command)
  local answer = redis.pcall(unpack(command))
  local refused = refused_part(answer)
  if refused == 'command' then deny(command[1]) end
  if type(answer) == 'table' and string.find(answer.err or '', 'Unknown.*command') then unknown[#unknown + 1] = command[1] end
  if refused == 'key' and not keys[1] then keys[1] = 0 end
  return answer
end

for _, command in ipairs(harmless(lock)) do probe(command) end
if not denied['del'] and not keys[1] then
  for _, command in ipairs(creating(lock)) do
    if probe(command) == 1 then redis.call('del', lock) end
  end
end

-- Tests reading and writing separately: Redis 7 has a right for each.
local function may_use(name)
  return refused_part(redis.pcall('pttl', name)) ~= 'key' and refused_part(redis.pcall('pexpire', name, 1)) ~= 'key'
end

for at, name in ipairs(names) do
  if at <= count then
    if not may_use(name) then keys[#keys + 1] = at end
  else
    local plain, shard = publish(name, '')
    if refused_part(plain) == 'command' then deny("publish") end
    if refused_part(shard) == 'command' then deny("spublish") end
    if refused_part(plain) == 'channel' or refused_part(shard) == 'channel' then channels[#channels + 1] = at - count end
  end
end
return {'RIGHTS', nonce, commands, keys, channels, unknown}
