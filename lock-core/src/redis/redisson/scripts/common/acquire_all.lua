-- common/acquire_all: acquires one hold of each of several locks, or none. Runs each lock's own acquire
-- script, in order, up to the first that is not granted. Then it releases every hold that this call
-- requests, also one that an earlier call with a lost reply was granted: each owner has one hold less
-- than requested, and locks that are free then are reserved for their waiters. Outer holds remain, and
-- so does the place in line of the refused member. Repeating the call for granted holds grants them
-- again.
--
-- KEYS, one member after another: the keys of the member's acquire script, and after those of
-- fair_read_write/acquire the channel where releases are published
-- ARGV[1] nonce
-- then for each member: the name of its acquire script; the number of its keys; the number of its
-- arguments; and the arguments of the acquire script without the nonce, the last of which may be
-- missing if that script allows it
--
-- Returns {GRANTED, nonce, token of each member ('' for re-entry and for a permit)}
--         {REFUSED, nonce, number of the member (from 1), that member's own reply: status, nonce, ...}
--         {INVALID, nonce}
local nonce = ARGV[1]

-- By name: the number of keys, the least and the largest number of arguments, the bounds of arguments
-- (numbered as in the acquire script's header, where the nonce is the first), and how to release down to
-- a number of holds.
local LEASE, HOLDS, ANY_MS = {1, MOST_LEASE_MS}, {1, MOST_HOLDS}, {0, MOST_LEASE_MS}
local RESERVED = {0, MOST_HOLDS}
local KINDS = {
  ['read_write/acquire_read'] = {
    keys = 6, args = {4, 7}, holds = 8,
    numbers = {[3] = LEASE, [4] = ANY_MS, [5] = ANY_MS, [6] = ANY_MS, [8] = HOLDS},
    acquire = read_write_acquire_read,
    release = function(keys, args, holds)
      return read_write_release_read({keys[1], keys[4], keys[5], keys[2]}, {nonce, args[2], holds})
    end,
  },
  ['read_write/acquire_write'] = {
    keys = 5, args = {4, 8}, holds = 8,
    numbers = {[3] = LEASE, [4] = ANY_MS, [5] = ANY_MS, [6] = ANY_MS, [8] = HOLDS, [9] = RESERVED},
    acquire = read_write_acquire_write,
    release = function(keys, args, holds)
      return read_write_release_write({keys[1], keys[4], keys[2]}, {nonce, args[2], holds})
    end,
  },
  ['exclusive/acquire'] = {
    keys = 5, args = {4, 8}, holds = 8,
    numbers = {[3] = LEASE, [4] = ANY_MS, [5] = ANY_MS, [6] = ANY_MS, [8] = HOLDS, [9] = RESERVED},
    acquire = exclusive_acquire,
    release = function(keys, args, holds)
      return exclusive_release({keys[1], keys[4], keys[2]}, {nonce, args[2], holds})
    end,
  },
  ['fair/acquire'] = {
    keys = 7, args = {6, 6}, numbers = {[3] = LEASE, [4] = HOLDS, [5] = ANY_MS, [6] = LEASE, [7] = ANY_MS}, holds = 4,
    acquire = fair_acquire,
    release = function(keys, args, holds)
      return fair_release({keys[1], keys[2], keys[3], keys[4], keys[6]}, {nonce, args[2], holds, '0'})
    end,
  },
  ['fair_read_write/acquire'] = {
    keys = 8, args = {7, 7}, numbers = {[4] = LEASE, [5] = HOLDS, [6] = ANY_MS, [7] = ANY_MS}, holds = 5, mode = 3,
    acquire = fair_read_write_acquire,
    release = function(keys, args, holds)
      return fair_read_write_release(
        {keys[1], keys[2], keys[8], keys[3], keys[4], keys[6]}, {nonce, args[2], args[3], holds, '0'})
    end,
  },
  ['semaphore/acquire'] = {
    keys = 4, args = {3, 6},
    numbers = {[3] = LEASE, [4] = {0, MOST_PERMITS}, [5] = ANY_MS, [6] = ANY_MS, [7] = HOLDS},
    acquire = semaphore_acquire,
    release = function(keys, args) return semaphore_release(keys, {nonce, args[2]}) end,
  },
}

-- All members are validated before the first one writes.
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

-- Catches an error of one member, so that the others can still be released.
local function attempt(step, member, holds)
  local ran, reply = pcall(step, member.keys, member.args, holds)
  if ran and not reply.err then return reply end
  return nil, type(reply) == 'table' and reply or redis.error_reply(reply)
end

-- Releases all members except `spared`, the last first: nested holds of one lock end from the inside.
-- Returns the first error, if any.
local function release_all(spared)
  local first_error
  for at = #members, 1, -1 do
    local member = members[at]
    local holds = member.kind.holds and (member.args[member.kind.holds] or 1) - 1
    if at ~= spared then
      local _, failed = attempt(member.kind.release, member, holds)
      first_error = first_error or failed
    end
  end
  return first_error
end

local granted = {'GRANTED', nonce}
for at, member in ipairs(members) do
  local reply, failed = attempt(member.kind.acquire, member)
  if failed then
    release_all()
    return failed
  end
  if reply[1] ~= 'GRANTED' then
    -- If its token key has another type now, an earlier call may still have been granted this member.
    local spared = reply[1] ~= 'WRONG_KIND' and at
    return release_all(spared) or {'REFUSED', nonce, at, unpack(reply)}
  end
  granted[at + 2] = reply[3]
end
return granted
