-- command_worker: leaves a word for a worker, which hears it at its next report
--
-- KEYS[1] workers zset   id -> last seen
-- KEYS[2] command string what operators want of it
-- ARGV[1] id      text the worker
-- ARGV[2] command text quiet, resume, stop
-- ARGV[3] ttl_ms  int  forgotten after this if the worker does not come for it
-- returns ok, not_found
-- flags allow-oom
local function command_worker(K, A)
  if not redis.call('ZSCORE', K.workers, A[1]) then
    return 'not_found'
  end
  redis.call('SET', K.command, A[2], 'PX', A[3])
  return 'ok'
end
