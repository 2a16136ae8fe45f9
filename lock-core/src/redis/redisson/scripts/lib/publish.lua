-- lib/publish: publishes a message; in a cluster of Redis 7 also on the shard channel, as Redisson
-- does there, so that subscribers of both sorts receive it. A missing right to publish is ignored: the
-- change has been made already, and waiters find it by polling.
local function publish(channel, message)
  local published = redis.pcall('publish', channel, message)
  return published, SHARDED and redis.pcall('spublish', channel, message)
end

