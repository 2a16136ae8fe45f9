-- fast_path/release: releases locks that their owners hold once, and for which no other waits, before any
-- function is made. The value that stands there then is exactly the one that the owner has put there.
local answers, names, left = {'DONE', ARGV[1]}, ARGV[2] == '4' and 4 or 1, false
for at = 1, #KEYS / names do
  local lock = KEYS[names * (at - 1) + 1]
  local value = redis.pcall('get', lock)
  if value == ARGV[3 * at] and ARGV[3 * at + 1] == '0' and ARGV[3 * at + 2] == '0' then
    redis.call('del', lock)
    answers[at + 2] = 'FREED'
  else
    answers[at + 2], left = 'MORE', true
  end
end
if names == 1 or not left then return answers end

