-- lib/publish: publishes a message; in a cluster of Redis 7 on the channel of the shard alone. Returns the
-- answers of PUBLISH and SPUBLISH, false for the one that was not sent. If the user may not publish, what
-- the message tells of has happened all the same, and waiters find out by polling.
local function publish(channel, message)
  if SHARDED then return false, redis.pcall('spublish', channel, message) end
  return redis.pcall('publish', channel, message), false
end

