-- lib/held_by_own_client: whether a client of this library is among the holders of a read/write lock.
local function held_by_own_client(lock, tag, mode)
  local fields = all_fields(lock)
  for at = 1, #fields, 2 do
    local owner = string.match(fields[at], '^(.*):write$') or fields[at]
    -- A dead reader stays in the hash as long as others read.
    local key = tag .. ':' .. owner .. ':rwlock_timeout:1'
    if is_own_client(owner) and (mode == 'write' or redis.call('exists', key) == 1) then return true end
  end
  return false
end

