-- lib/fields: some fields of a lock's hash; `free` where nothing stands under its name, which one
-- short look tells; `err` where something else does.
local function fields_named(lock, ...)
  local count = redis.pcall('hlen', lock)
  if count == 0 then return {free = true} end
  if type(count) == 'table' then return count end
  return redis.pcall('hmget', lock, ...)
end

