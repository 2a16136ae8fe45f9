-- lib/tag: how an owner's read keys begin, from any name that stands beside the lock: all of them
-- end with the lock's tag. Few calls need it, and every argument of a call costs.
local function tag_of(beside)
  return string.match(beside, ':(.*)$')
end

local function reads_of(beside, owner)
  return tag_of(beside) .. ':' .. owner .. ':rwlock_timeout'
end

