-- release_free: releases locks that their owners hold once, and for which no other waits. The value that
-- stands there then is exactly the one that the owner has put there. Repeating the call changes nothing.
-- Works at Redis' memory limit: it only deletes.
--
-- KEYS[i] lock   string   its holder: see lib/value
-- ARGV[i] value  of lock i; the first tells the reply from others, as no other owner has this value
--
-- Returns 'DONE value numbers' the first value, and the numbers of the locks that have another value:
--                              release must find out what is to be done
local more = ''
for at = 1, #KEYS do
  if redis.pcall('get', KEYS[at]) == ARGV[at] then redis.call('del', KEYS[at]) else more = more .. ' ' .. at end
end
return 'DONE ' .. ARGV[1] .. more
