-- read_worker: the last report of one worker
--
-- KEYS[1] workers zset   id -> last seen
-- KEYS[2] worker  string this worker's report
-- ARGV[1] id text the worker
-- returns now, last seen, report; or empty
-- flags no-writes
local function read_worker(K, A)
  local seen = redis.call('ZSCORE', K.workers, A[1])
  if not seen then
    return {}
  end
  return { NOW, seen, redis.call('GET', K.worker) }
end
