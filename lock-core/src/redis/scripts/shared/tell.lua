-- shared/tell: publishes a message. In a cluster of Redis 7 also to those who listen to the shard,
-- as Redisson does there; both reach a listener of either sort.
local function tell(channel, message)
  redis.call('publish', channel, message)
  if SHARDED then redis.call('spublish', channel, message) end
end

