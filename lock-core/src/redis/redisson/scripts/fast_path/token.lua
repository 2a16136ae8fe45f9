-- fast_path/token: sets `fence` to the fencing token of a first hold of a free lock without waiters, and
-- stores it as lib/next_token does, unless clients of the native wire draw tokens too. In every other case `fence` is nil, nothing is written, and the
-- full script answers. A fast path defines no functions: defining those of a full script costs as much
-- as granting. It replies with one text, the parts of the full script's list separated by spaces: a
-- list costs as much as a command.
--
-- KEYS[1] lock    hash    of any kind
-- KEYS[2] line    hash    mode:owner of each waiter -> since:until
-- KEYS[3] token   string  last fencing token
-- KEYS[#KEYS] counter  string  last fencing token of the native wire
-- ARGV[1] nonce
-- ARGV[2] owner
-- ARGV[3] lease   ms
-- ARGV[4] token_ttl  ms, 0: no expiry
-- ARGV[5] place_ms  as in the full script
-- ARGV[6] waited_ms  as in the full script
-- ARGV[7] yields  ignored: there are no waiters
-- ARGV[8] holds   1 (the default); for any other the full script answers
-- ARGV[9] reserved_tokens  0 (the default); for any other the full script answers
local lock, line, token = KEYS[1], KEYS[2], KEYS[3]
local nonce, owner, lease, token_ttl = ARGV[1], ARGV[2], ARGV[3], ARGV[4]
local lease_ms, token_ttl_ms, place_ms, waited_ms = tonumber(lease), tonumber(token_ttl), tonumber(ARGV[5]), tonumber(ARGV[6] or 0)
local holds, reserved_tokens = ARGV[8], ARGV[9]
-- As lib/parse_int's MOST_LEASE_MS.
local MOST_MS = 31536000000
local fence
if owner ~= '' and (not holds or holds == '1') and (not reserved_tokens or reserved_tokens == '0')
  and lease_ms and token_ttl_ms and place_ms and waited_ms
  and lease_ms >= 1 and lease_ms <= MOST_MS and lease_ms % 1 == 0
  and token_ttl_ms >= 0 and token_ttl_ms <= MOST_MS and token_ttl_ms % 1 == 0
  and place_ms >= 0 and place_ms <= MOST_MS and place_ms % 1 == 0
  and waited_ms >= 0 and waited_ms <= MOST_MS and waited_ms % 1 == 0
  and redis.call('exists', lock, line, KEYS[#KEYS]) == 0
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
