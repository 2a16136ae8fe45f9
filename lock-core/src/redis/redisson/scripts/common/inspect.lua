-- common/inspect: returns the state of a lock of any kind. Writes nothing.
--
-- KEYS[1] lock       hash or string  of the read/write lock, the lock with one holder, the semaphore
-- KEYS[2] line       hash or zset  waiters; of a fair read/write lock in order of arrival
-- KEYS[3] queue      list    waiters of a fair lock
-- KEYS[4] deadlines  zset    of Redisson's waiters
-- KEYS[5] alive      zset    of this library's waiters
-- KEYS[6] token      string  last fencing token
-- KEYS[7] leases     zset    of a semaphore's permits
-- ARGV[1] nonce
-- ARGV[2] tag        prefix of every owner's read keys
-- ARGV[3] waiters    1: lists them; 0: what it costs does not grow with them, and a fair kind is not told from others
--
-- Returns {STATE, nonce, kind, mode, ms left (-2: free, -1: no limit), free permits (-1: not a semaphore),
--          token ('': none), 1 if the lists are complete, holders, waiters}
--         {WRONG_KIND, nonce}
-- kind     '' (free), read_write, fair_read_write, reentrant, fair, fenced or semaphore. A lock with
--          one holder is fair when its queue has waiters, fenced when its tokens are permanent.
-- mode     '' (free, and for a semaphore), read or write
-- holders  {owner (of a permit: 32 hex digits), reads, writes, ms left} of live holders
-- waiters  {owner, mode} of live waiters, in order
local lock, line, queue, deadlines, alive, token, leases = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6], KEYS[7]
local nonce, tag, lists_waiters = ARGV[1], ARGV[2], ARGV[3] == '1'

local now = now_ms()
local found = holders_of(lock, leases, tag, now)
if not found then return {'WRONG_KIND', nonce} end

local MOST_VISITED = 4 * MOST_LISTED
local waiters, complete = {}, found.complete
local function list(entries, mode, left)
  if #entries == MOST_VISITED then complete = false end
  for _, entry in ipairs(entries) do
    if left(entry) > 0 then
      if #waiters == MOST_LISTED then
        complete = false
        return
      end
      waiters[#waiters + 1] = mode and {entry, mode} or {string.match(entry, ':(.*)$'), string.match(entry, '^%a+')}
    end
  end
end

local fair_line = has_fair_queue(line, alive)
if fair_line and lists_waiters then
  list(redis.call('zrangebyscore', line, '(0', '+inf', 'limit', 0, MOST_VISITED), nil, function(entry) return place_left_ms(alive, entry, now) end)
elseif lists_waiters and is_fair_lock_queue(queue, deadlines, alive) then
  list(redis.call('lrange', queue, 0, MOST_VISITED - 1), 'write', function(waiter) return waiter_left_ms(deadlines, alive, waiter, now) end)
end
local queued = #waiters > 0
if lists_waiters and not queued then
  for at, waiter in ipairs(waiters_in(line)) do
    local owner = string.match(waiter.name, ':(.*)$')
    waiters[at] = {found.shape == 'semaphore' and hex(owner) or owner, waiter.reads and 'read' or 'write'}
  end
end

local fence = redis.pcall('get', token)
fence = type(fence) == 'string' and parse_int(fence, 0, MOST_TOKEN) and fence or ''

local kind = found.shape
if kind == 'read_write' or fair_line then
  kind = fair_line and (queued or kind ~= 'free') and 'fair_read_write' or kind
elseif kind ~= 'semaphore' and queued then
  kind = 'fair'
elseif kind == 'exclusive' then
  kind = fence ~= '' and redis.call('pttl', token) == -1 and 'fenced' or 'reentrant'
elseif kind == 'free' and #waiters > 0 then
  kind = 'read_write'
end
if kind == 'free' or (kind == 'read_write' and found.mode == '' and #waiters == 0) then kind = '' end

return {
  'STATE', nonce, kind, found.mode, found.left_ms, found.free or -1, fence, complete and 1 or 0, found.holders, waiters,
}
