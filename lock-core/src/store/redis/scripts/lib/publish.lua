-- lib/publish: publishes a message. In a cluster of Redis 7 also to those who listen to the shard,
-- as Redisson does there; both reach a listener of either sort. Who may not publish is refused here
-- and nowhere else: what the message tells of has happened, and those who wait find out by looking.
local function publish(channel, message)
  local told = redis.pcall('publish', channel, message)
  return told, SHARDED and redis.pcall('spublish', channel, message)
end

