-- command_worker: leaves a word for a worker, which hears it at its next report
--
-- It stands until the worker has confirmed it, or until nothing was heard of the worker for so long
-- that its report is forgotten: a worker of long leases reports less often than each `ttl_ms`.
--
-- KEYS[1] workers zset   id -> last seen
-- KEYS[2] worker  string this worker's report
-- KEYS[3] command string what operators want of it: id, space, quiet | resume | stop
-- ARGV[1] id      text the worker
-- ARGV[2] command text quiet, resume, stop
-- ARGV[3] ttl_ms  int  it stands at least so long
-- returns ok, not_found
-- flags allow-oom
local function command_worker(K, A)
  if not redis.call('ZSCORE', K.workers, A[1]) then
    return 'not_found'
  end
  local ttl = math.max(tonumber(A[3]), redis.call('PTTL', K.worker))
  redis.call('SET', K.command, text(NOW_US) .. ' ' .. A[2], 'PX', text(ttl))
  return 'ok'
end
