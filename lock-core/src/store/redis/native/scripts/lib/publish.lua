-- lib/publish: publishes a message; in a cluster of Redis 7 on the channel of the shard alone. If the user may
-- not publish, what the message tells of has happened all the same, and waiters find out by polling.
local function publish(channel, message)
  redis.pcall(SHARDED and 'spublish' or 'publish', channel, message)
end

