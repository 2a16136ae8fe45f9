-- convert: changes the mode of one of an owner's holds. An upgrade is granted to the only reader, with a
-- new token; a downgrade lets waiting readers in. Repeating a call that was done does it again.
--
-- KEYS[1] lock     string or zset  its holders: see lib/value
-- KEYS[2] line     zset     places of its waiters -> number of arrival
-- KEYS[3] places   zset     places of its waiters -> epoch ms until which they live
-- KEYS[4] counter  string   last fencing token
-- ARGV[1] nonce
-- ARGV[2] owner
-- ARGV[3] kind     its letter
-- ARGV[4] to       write: an upgrade, read: a downgrade
-- ARGV[5] lease    ms
-- ARGV[6] reads    the owner's holds afterwards
-- ARGV[7] writes
-- ARGV[8] floor    the greatest token that the caller knows
--
-- Returns {GRANTED, nonce, token} an upgrade
--         {RELEASED, nonce} a downgrade
--         {BUSY, nonce} others read too
--         {LOST, nonce} the owner has no such hold
--         {WRONG_KIND, nonce} the counter's name holds something else
--         {INVALID, nonce}
local nonce, owner, kind, upgrades = ARGV[1], ARGV[2], ARGV[3], ARGV[4] == 'write'
local lease_ms = parse_int(ARGV[5], 1, MOST_LEASE_MS)
local reads_after, writes_after = parse_int(ARGV[6], 0, MOST_HOLDS), parse_int(ARGV[7], 0, MOST_HOLDS)
local floor = parse_int(ARGV[8], 0, MOST_TOKEN)
if not (lease_ms and reads_after and writes_after and floor) or owner == '' then return {'INVALID', nonce} end

local s, failed = read_lock(KEYS, 1, kind)
if failed then return failed end
if not s or s.other_ms then return {'LOST', nonce} end
local reads, writes = holds_of(s, owner)
local deadline = now_ms() + lease_ms

if upgrades then
  if writes < writes_after then
    if writes + 1 < writes_after or reads <= reads_after then return {'LOST', nonce} end
    if count_holders(s) > 1 then return {'BUSY', nonce} end
  end
  local fence = next_token(KEYS[4], floor, 0)
  if not fence then return {'WRONG_KIND', nonce} end
  hold(s, owner, reads_after, writes_after, deadline)
  write_lock(s)
  return {'GRANTED', nonce, fence}
end

if writes <= writes_after then
  if writes < writes_after or reads < reads_after then return {'LOST', nonce} end
  reads_after = reads
end
hold(s, owner, reads_after, writes_after, deadline)
begin_write(s)
if writes > 0 and writes_after == 0 then wake_next(s) end
write_lock(s)
return {'RELEASED', nonce}
