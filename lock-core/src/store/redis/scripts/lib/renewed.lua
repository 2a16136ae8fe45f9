-- lib/renewed: the time (ms) that a renewal leaves: never less than is left, unless Redis' clock
-- must have been set back. A renewal tells the longest lease that its owner has asked for, but one
-- that comes late may not know of the last; so only what is far beyond is taken for a jump.
local JUMP_MS = 1800000
local function renewed_ms(left_ms, lease_ms)
  if left_ms > lease_ms + JUMP_MS then return lease_ms end
  return math.max(left_ms, lease_ms)
end

