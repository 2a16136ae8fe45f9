-- lib/own_client: whether an owner is a client of this library: our UUIDs are of version 8, Redisson's
-- of version 4.
local function is_own_client(owner)
  return string.match(owner, '^%x+%-%x+%-8%x+%-%x+%-%x+:%d+$') ~= nil
end

