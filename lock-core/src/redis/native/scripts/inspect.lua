-- inspect: what stands in Redis for a lock of whatever kind.
--
-- KEYS[1] lock     string or zset  its holders: see lib/value
-- KEYS[2] line     zset     places of its waiters -> number of arrival
-- KEYS[3] places   zset     places of its waiters -> epoch ms until which they live
-- KEYS[4] counter  string   last fencing token
-- ARGV[1] nonce
-- ARGV[2] beside  1: a text of another library is a holder
-- ARGV[3] waiters  1: lists them; 0: what it costs does not grow with them
--
-- Returns {STATE, nonce, kind, mode, ms left (-2: free), '', token ('': none), 1 if all are listed, holders, waiters}
--         {WRONG_KIND, nonce}
-- kind     '' when there are neither holders nor waiters, and when the value has none: another library's,
--          or waiters beside no value
-- mode     '' (free), read or write
-- holders  {owner, reads, writes, ms left} of those whose time is not over; of another library's its text
-- waiters  {owner, mode} in order, of those whose place is not over
local NAMES = {
  e = 'reentrant', n = 'non_reentrant', f = 'fair', t = 'fenced', r = 'read_write', q = 'fair_read_write', s = 'semaphore',
}
local nonce, lists_waiters = ARGV[1], ARGV[3] == '1'
local s, failed = read_lock(KEYS, 1, nil, ARGV[2] == '1')
if failed then return failed end
if not s then return {'WRONG_KIND', nonce} end

local holders, complete = list_holders(s)
local waiters = {}
local places = lists_waiters and s.waited and first_places(s, 4 * MOST_LISTED) or {}
for _, place in ipairs(places) do
  if left_of(s, place) > 0 then
    if #waiters == MOST_LISTED then complete = false break end
    waiters[#waiters + 1] = {string.sub(place, 3), is_reader(place) and 'read' or 'write'}
  end
end
local kind, mode, left_ms = s.kind or '', '', -2
if #holders > 0 then
  left_ms = s.other_ms or longest_deadline(s) - now_ms()
  mode = s.writes == 0 and s.kind ~= 's' and not s.text and 'read' or 'write'
end
if #holders + #waiters == 0 then kind = '' end
local fence = redis.pcall('get', KEYS[4])
fence = kind ~= 's' and type(fence) == 'string' and parse_int(fence, 0, MOST_TOKEN) and fence or ''
return {'STATE', nonce, NAMES[kind] or '', mode, left_ms, '', fence, complete and 1 or 0, holders, waiters}
