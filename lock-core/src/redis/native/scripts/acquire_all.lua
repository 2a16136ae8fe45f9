-- acquire_all: takes one hold of each of several locks, or none. Each is acquired as acquire does, in order,
-- up to the first that is not granted; then no hold is left that this call requests, whether this call or
-- an earlier one with a lost reply was granted it: each owner is brought back to one hold less, and what
-- is free then is reserved for the waiters that are next. Holds further out stay, and so does the place
-- in line of the one that was refused. What was granted is granted again when the call is repeated.
--
-- KEYS[4i-3 .. 4i]  of each lock: the keys of acquire
-- ARGV[1] nonce
-- ARGV[12i-10 .. 12i+1]  of each lock: the arguments of acquire without the nonce
--
-- Returns {GRANTED, nonce, token of each lock ('' for re-entry and for a permit)}
--         {REFUSED, nonce, which lock (1 is the first), the words of its own reply}
--         {INVALID, nonce}
local nonce, count = ARGV[1], #KEYS / 4
if count < 1 or count % 1 ~= 0 or #ARGV ~= 12 * count + 1 then return {'INVALID', nonce} end

local function keys_of(at, count)
  return {unpack(KEYS, 4 * at - 3, 4 * at - 4 + count)}
end

local function args_of(at)
  return {nonce, unpack(ARGV, 12 * at - 10, 12 * at + 1)}
end

-- An error of Redis stops one lock, and must not leave the others held.
local function attempt(step, keys, args)
  local ran, reply = pcall(step, keys, args)
  if ran and not (type(reply) == 'table' and reply.err) then return reply end
  return nil, type(reply) == 'table' and reply or redis.error_reply(tostring(reply))
end

-- The last one first: holds of one lock end from the inside. Returns what went wrong, if anything did.
local function give_back(except)
  local wrong
  for at = count, 1, -1 do
    local args = args_of(at)
    local value = MARK .. args[3] .. string.sub(args[4], 1, 1) .. args[2]
    if at ~= except then
      local done, failed = attempt(release_each, keys_of(at, 3), {nonce, value, args[3] == 's' and 0 or args[6] - 1, '0'})
      wrong = wrong or failed
      if done and not string.find('FREED RESERVED HELD GONE', done[3], 1, true) then wrong = wrong or redis.error_reply(done[3]) end
    end
  end
  return wrong
end

-- Arguments that acquire would refuse, before the first lock is acquired.
for at = 1, count do
  local args = args_of(at)
  local lease_ms, holds = parse_int(args[5], 1, MOST_LEASE_MS), parse_int(args[6], 1, MOST_HOLDS)
  local waited_ms = parse_int(args[13], 0, MOST_LEASE_MS)
  if not (lease_ms and holds and waited_ms) then return {'INVALID', nonce} end
end

local granted = {'GRANTED', nonce}
for at = 1, count do
  local reply, failed = attempt(acquire, keys_of(at, 4), args_of(at))
  if failed then
    give_back()
    return failed
  end
  local words = {}
  for word in string.gmatch(reply, '%S+') do words[#words + 1] = word end
  if words[1] ~= 'GRANTED' then
    -- An earlier call may have been granted it, before its counter became something else.
    local spared = words[1] ~= 'WRONG_KIND' and at
    return give_back(spared) or {'REFUSED', nonce, at, reply}
  end
  granted[at + 2] = words[3] or ''
end
return granted
