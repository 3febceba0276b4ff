-- bulk_drop: what a queue keeps of a bulk operation -> gone
--
-- KEYS[1] guard   none never exists, see _queue.lua
-- KEYS[2] part    hash the queue's part of the operation, see _bulk.lua
-- KEYS[3] chosen  list id and rev of the jobs left
-- KEYS[4] seen    set  running jobs looked at
-- KEYS[5] watched zset jobs whose outcome is waited for
-- returns how many keys there were
-- flags allow-oom
local function bulk_drop(K, A)
  return redis.call('UNLINK', K.part, K.chosen, K.seen, K.watched)
end
