-- lib/parse_int: parses an argument; nil unless it is an integer within bounds.
local MOST_LEASE_MS, MOST_HOLDS = 31536000000, 1000000
local function parse_int(text, least, most)
  local number = tonumber(text)
  if number and number >= least and number <= most and number % 1 == 0 then return number end
end

