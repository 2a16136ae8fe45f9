-- fast_path/token: the fencing token of a first hold of a lock that nobody holds and nobody waits for,
-- stored as lib/next_token stores it: `fence`. nil where the call is any other, or anything is out
-- of the ordinary: then nothing is written, and the whole script answers. What is quick makes no
-- function: to make those of a whole script costs as much as to grant. And it answers in one text, the
-- parts of the whole script's list with spaces between: a list costs as much as a command.
--
-- KEYS[1] lock    hash    of any kind
-- KEYS[2] line    hash    mode:owner of each waiter -> since:until
-- KEYS[3] token   string  last fencing token
-- ARGV[1] nonce
-- ARGV[2] owner
-- ARGV[3] lease   ms
-- ARGV[4] token_ttl  ms, 0: for ever
-- ARGV[5] place_ms  as in the whole script
-- ARGV[6] waited_ms  as in the whole script
-- ARGV[7] yields  makes no difference where nobody waits
-- ARGV[8] holds   1, or missing; another is left to the whole script
-- ARGV[9] turns   0, or missing; others are left to the whole script
local lock, line, token = KEYS[1], KEYS[2], KEYS[3]
local nonce, owner, lease, token_ttl = ARGV[1], ARGV[2], ARGV[3], ARGV[4]
local lease_ms, token_ttl_ms, place_ms, waited_ms = tonumber(lease), tonumber(token_ttl), tonumber(ARGV[5]), tonumber(ARGV[6] or 0)
local holds, turns = ARGV[8], ARGV[9]
local MOST_MS = 31536000000 -- lib/parse_int's MOST_LEASE_MS
local fence
if owner ~= '' and (not holds or holds == '1') and (not turns or turns == '0')
  and lease_ms and token_ttl_ms and place_ms and waited_ms
  and lease_ms >= 1 and lease_ms <= MOST_MS and lease_ms % 1 == 0
  and token_ttl_ms >= 0 and token_ttl_ms <= MOST_MS and token_ttl_ms % 1 == 0
  and place_ms >= 0 and place_ms <= MOST_MS and place_ms % 1 == 0
  and waited_ms >= 0 and waited_ms <= MOST_MS and waited_ms % 1 == 0
  and redis.call('exists', lock, line) == 0
then
  local stored, now = redis.pcall('get', token), redis.call('time')
  local micros = now[2]
  if #micros < 6 then micros = string.sub('00000' .. micros, -6) end
  local text, last = now[1] .. micros, tonumber(stored or 0)
  if last and last >= 0 and last % 1 == 0 and last < tonumber(text) then
    local stays = token_ttl_ms == 0 or (stored and redis.call('pttl', token) == -1)
    local kept = stays and redis.pcall('set', token, text) or redis.pcall('set', token, text, 'px', token_ttl)
    if kept.ok then fence = text end
  end
end
