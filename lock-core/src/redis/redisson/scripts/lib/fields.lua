-- lib/fields: returns some fields of a lock's hash, `free` if the key does not exist (found with one
-- cheap command), or `err` if the key has another type.
local function fields_named(lock, ...)
  local count = redis.pcall('hlen', lock)
  if count == 0 then return {free = true} end
  if type(count) == 'table' then return count end
  return redis.pcall('hmget', lock, ...)
end

