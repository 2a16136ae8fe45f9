-- lib/own_client: whether an owner is a client of this library. Its UUIDs have version 8, Redisson's
-- version 4.
local function is_own_client(owner)
  return string.match(owner, '^%x+%-%x+%-8%x+%-%x+%-%x+:%d+$') ~= nil
end

