-- register_queue: makes a queue known, so that lists, workers of every queue and look-ups find it
--
-- KEYS[1] queues zset names of all queues -> when first seen
-- ARGV[1] most int at most so many queues
-- ARGV[2] name text the queue
-- returns ok, or refused when there are too many
-- flags allow-oom
local function register_queue(K, A)
  if redis.call('ZSCORE', K.queues, A[2]) then
    return 'ok'
  end
  if redis.call('ZCARD', K.queues) >= tonumber(A[1]) then
    return 'refused'
  end
  redis.call('ZADD', K.queues, NOW, A[2])
  return 'ok'
end
