-- common/acquire_all: takes one hold of each of several locks, or none. Each is asked for as its own
-- acquire script asks, in order, up to the first that is not granted; then no hold is left that
-- this call asks for, whether this call or an earlier one with a lost reply was granted it: each
-- owner is brought back to one hold less, and what is free then is reserved for those that wait.
-- Holds further out stay, and so does the place in line of the one that was refused. Asking again
-- for what was granted grants it.
--
-- KEYS, the members' one after another: the keys of the member's acquire script, and after those of
-- fair_read_write/acquire the channel where releases are told
-- ARGV[1] nonce
-- then for each member: the name of its acquire script, as above; the number of its keys; the number
-- of its arguments; and these: the acquire script's without the nonce, of which the last may be missing
-- where that script says so
--
-- Returns {GRANTED, nonce, token of each member ('' for re-entry and for a permit)}
--         {REFUSED, nonce, which member (1 is the first), that member's own reply: status, nonce, ...}
--         {INVALID, nonce}
local nonce = ARGV[1]

-- By name: how many keys, how many arguments at least and at most, what the arguments must be (counted
-- as in the acquire script's header, where the nonce is the first), and how to come down to that many
-- holds.
local LEASE, HOLDS, ANY_MS = {1, MOST_LEASE_MS}, {1, MOST_HOLDS}, {0, MOST_LEASE_MS}
local TURNS = {0, MOST_HOLDS}
local KINDS = {
  ['read_write/acquire_read'] = {
    keys = 5, args = {4, 7}, holds = 8,
    numbers = {[3] = LEASE, [4] = ANY_MS, [5] = ANY_MS, [6] = ANY_MS, [8] = HOLDS},
    acquire = read_write_acquire_read,
    release = function(keys, args, holds)
      return read_write_release_read({keys[1], keys[4], keys[5], keys[2]}, {nonce, args[2], holds})
    end,
  },
  ['read_write/acquire_write'] = {
    keys = 4, args = {4, 8}, holds = 8,
    numbers = {[3] = LEASE, [4] = ANY_MS, [5] = ANY_MS, [6] = ANY_MS, [8] = HOLDS, [9] = TURNS},
    acquire = read_write_acquire_write,
    release = function(keys, args, holds)
      return read_write_release_write({keys[1], keys[4], keys[2]}, {nonce, args[2], holds})
    end,
  },
  ['exclusive/acquire'] = {
    keys = 4, args = {4, 8}, holds = 8,
    numbers = {[3] = LEASE, [4] = ANY_MS, [5] = ANY_MS, [6] = ANY_MS, [8] = HOLDS, [9] = TURNS},
    acquire = exclusive_acquire,
    release = function(keys, args, holds)
      return exclusive_release({keys[1], keys[4], keys[2]}, {nonce, args[2], holds})
    end,
  },
  ['fair/acquire'] = {
    keys = 6, args = {6, 6}, numbers = {[3] = LEASE, [4] = HOLDS, [5] = ANY_MS, [6] = LEASE, [7] = ANY_MS}, holds = 4,
    acquire = fair_acquire,
    release = function(keys, args, holds)
      return fair_release({keys[1], keys[2], keys[3], keys[4], keys[6]}, {nonce, args[2], holds, '0'})
    end,
  },
  ['fair_read_write/acquire'] = {
    keys = 7, args = {7, 7}, numbers = {[4] = LEASE, [5] = HOLDS, [6] = ANY_MS, [7] = ANY_MS}, holds = 5, mode = 3,
    acquire = fair_read_write_acquire,
    release = function(keys, args, holds)
      return fair_read_write_release(
        {keys[1], keys[2], keys[7], keys[3], keys[4], keys[6]}, {nonce, args[2], args[3], holds, '0'})
    end,
  },
  ['semaphore/acquire'] = {
    keys = 4, args = {3, 5}, numbers = {[3] = LEASE, [4] = {0, MOST_PERMITS}, [5] = ANY_MS, [6] = ANY_MS},
    acquire = semaphore_acquire,
    release = function(keys, args) return semaphore_release(keys, {nonce, args[2]}) end,
  },
}

-- Before the first member writes, so that no later one can be found wrong.
local function is_valid(member)
  local kind, args = member.kind, member.args
  for at, bounds in pairs(kind.numbers) do
    if args[at] and not parse_int(args[at], bounds[1], bounds[2]) then return false end
  end
  local mode = kind.mode and args[kind.mode] or 'read'
  return args[2] ~= '' and (mode == 'read' or mode == 'write')
end

local members, key_at, arg_at = {}, 0, 1
while arg_at < #ARGV do
  local kind, keys, args = KINDS[ARGV[arg_at + 1]], tonumber(ARGV[arg_at + 2]), tonumber(ARGV[arg_at + 3])
  if not kind or keys ~= kind.keys or not parse_int(args, kind.args[1], kind.args[2]) then return {'INVALID', nonce} end
  arg_at = arg_at + 3
  if key_at + keys > #KEYS or arg_at + args > #ARGV then return {'INVALID', nonce} end
  local member = {kind = kind, keys = {}, args = {nonce}}
  for at = 1, keys do member.keys[at] = KEYS[key_at + at] end
  for at = 1, args do member.args[at + 1] = ARGV[arg_at + at] end
  key_at, arg_at = key_at + keys, arg_at + args
  if not is_valid(member) then return {'INVALID', nonce} end
  members[#members + 1] = member
end
if #members == 0 or key_at ~= #KEYS then return {'INVALID', nonce} end

-- An error of Redis stops one member, and must not leave the others held.
local function attempt(step, member, holds)
  local ran, reply = pcall(step, member.keys, member.args, holds)
  if ran and not reply.err then return reply end
  return nil, type(reply) == 'table' and reply or redis.error_reply(reply)
end

-- The last one first: holds of one lock end from the inside. Says what went wrong, if anything did.
local function give_back(but)
  local wrong
  for at = #members, 1, -1 do
    local member = members[at]
    local holds = member.kind.holds and (member.args[member.kind.holds] or 1) - 1
    if at ~= but then
      local _, failed = attempt(member.kind.release, member, holds)
      wrong = wrong or failed
    end
  end
  return wrong
end

local granted = {'GRANTED', nonce}
for at, member in ipairs(members) do
  local reply, failed = attempt(member.kind.acquire, member)
  if failed then
    give_back()
    return failed
  end
  if reply[1] ~= 'GRANTED' then
    -- An earlier call may have been granted it, before its tokens became somebody else's.
    local spared = reply[1] ~= 'WRONG_KIND' and at
    return give_back(spared) or {'REFUSED', nonce, at, unpack(reply)}
  end
  granted[at + 2] = reply[3]
end
return granted
