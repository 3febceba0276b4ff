-- read_worker: the last report of one worker, and what it has not heard yet
--
-- KEYS[1] workers zset   id -> last seen
-- KEYS[2] worker  string this worker's report
-- KEYS[3] command string what operators want of it: id, space, quiet | resume | stop
-- ARGV[1] id text the worker
-- returns now, last seen, report, command or empty; or empty
-- flags no-writes
-- uses _queue
local function read_worker(K, A)
  -- What is of a foreign type tells nothing; read_foreign names a report.
  local function told(command, ...)
    local reply = spare(redis.pcall(command, ...))
    return type(reply) == 'string' and reply
  end
  local seen = told('ZSCORE', K.workers, A[1])
  if not seen then
    return {}
  end
  return { NOW, seen, told('GET', K.worker), told('GET', K.command) or '' }
end
