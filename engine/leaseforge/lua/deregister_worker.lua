-- deregister_worker: a worker leaves in order
--
-- KEYS[1] workers  zset   id -> last seen
-- KEYS[2] worker   string this worker's report
-- KEYS[3] command  string what operators want of it
-- ARGV[1] id text the worker's run id
-- ARGV[2...] queue text
-- returns ok
-- flags allow-oom
local function deregister_worker(K, A)
  redis.call('ZREM', K.workers, A[1])
  redis.call('DEL', K.worker, K.command)
  for i = 2, #A do
    redis.call('ZREM', 'lf:{sys}:consumers:' .. A[i], A[1])
  end
  return 'ok'
end
