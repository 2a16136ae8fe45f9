-- fast_path/release: releases locks that their owners hold once, and for which no other waits, before any
-- function is made. The value that stands there then is exactly the one that the owner has put there.
local answers, left = {'DONE', ARGV[1]}, false
for at = 1, #KEYS do
  local value = redis.pcall('get', KEYS[at])
  if value == ARGV[3 * at - 1] and ARGV[3 * at] == '0' and ARGV[3 * at + 1] == '0' then
    redis.call('del', KEYS[at])
    answers[at + 2] = 'FREED'
  else
    left = true
  end
end
if not left then return answers end

