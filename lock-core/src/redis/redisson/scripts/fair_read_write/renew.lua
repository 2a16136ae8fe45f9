-- fair_read_write/renew: extends the leases of holds of one mode, and keeps the queue as long as the
-- lock. A lease is never shortened (exception: lib/renewed). A foreign or broken key affects only its
-- own result.
--
-- KEYS[3i-2] lock   hash    mode, owner -> reads, owner:write -> writes
-- KEYS[3i-1] reads  prefix  of the owner's keys reads:1 .. reads:n
-- KEYS[3i]   line   zset    mode:owner of each waiter -> number of arrival; see lib/fair_read_write_queue
-- ARGV[1]    nonce
-- ARGV[2]    mode   read or write
-- ARGV[2i+1] owner
-- ARGV[2i+2] lease  ms, or "=" and ms: exactly
--
-- Returns {RENEWED, nonce, for each hold 1 (renewed), 0 (lost) or what was wrong (state unknown)}
--         {INVALID, nonce}
local nonce, mode = ARGV[1], ARGV[2]
if mode ~= 'read' and mode ~= 'write' then return {'INVALID', nonce} end

local keys, args = {}, {nonce}
for at = 1, #KEYS / 3 do
  keys[2 * at - 1], keys[2 * at] = KEYS[3 * at - 2], KEYS[3 * at - 1]
  args[2 * at], args[2 * at + 1] = ARGV[2 * at + 1], ARGV[2 * at + 2]
end
local reply = mode == 'read' and read_write_renew_read(keys, args) or read_write_renew_write(keys, args)

-- If the queue's TTL cannot be set, the hold is still renewed.
local function keep(lock, line)
  if has_fair_queue(line, line) ~= nil then extend_fair_queue(line, redis.call('pttl', lock)) end
end
for at = 1, #KEYS / 3 do
  if reply[at + 2] == 1 then pcall(keep, KEYS[3 * at - 2], KEYS[3 * at]) end
end
return reply
