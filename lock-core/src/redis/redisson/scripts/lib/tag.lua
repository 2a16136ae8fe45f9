-- lib/tag: the prefix of an owner's read keys, from the name of any other key of the lock: all of them
-- end with the lock's tag. It is not an argument, because few calls need it and each argument costs.
local function tag_of(beside)
  return string.match(beside, ':(.*)$')
end

local function reads_of(beside, owner)
  return tag_of(beside) .. ':' .. owner .. ':rwlock_timeout'
end

