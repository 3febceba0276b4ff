-- read_queues: the names of all known queues
--
-- KEYS[1] queues zset names of all queues -> when first seen
-- returns names in alphabetical order
-- flags no-writes
local function read_queues(K, A)
  local names = redis.call('ZRANGE', K.queues, 0, -1)
  table.sort(names)
  return names
end
