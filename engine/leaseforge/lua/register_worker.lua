-- register_worker: a worker says that it lives, and hears what operators want of it
--
-- A command stands until the worker says, by its id, that it has heard it: a reply that got lost takes
-- none along. A newer command takes the place of an older one.
--
-- KEYS[1] workers  zset   id -> last seen
-- KEYS[2] worker   string this worker's report
-- KEYS[3] command  string what operators want of it: id, space, quiet | resume | stop
-- ARGV[1] id      text    the worker's run id
-- ARGV[2] report  msgpack what it says of itself
-- ARGV[3] ttl_ms  int     without another report it counts as lost after this
-- ARGV[4] heard  text    id of the last command it heard, or empty
-- ARGV[5...] queue text
-- returns id of the command or empty, command or empty, then per queue the number of live workers
-- flags allow-oom
local function register_worker(K, A)
  local id, ttl = A[1], tonumber(A[3])
  redis.call('ZADD', K.workers, NOW, id)
  -- A lost worker stays listed for a while, so that operators see that it is gone.
  redis.call('ZREMRANGEBYSCORE', K.workers, '-inf', text(NOW - 20 * ttl))
  redis.call('SET', K.worker, A[2], 'PX', text(20 * ttl))
  local command, word = string.match(redis.call('GET', K.command) or '', '^(%S+) (%S+)$')
  if command and command == A[4] then
    redis.call('DEL', K.command)
    command, word = nil, nil
  end
  local reply = { command or '', word or '' }
  for i = 5, #A do
    local key = 'lf:{sys}:consumers:' .. A[i]
    redis.call('ZADD', key, NOW, id)
    redis.call('ZREMRANGEBYSCORE', key, '-inf', text(NOW - ttl))
    redis.call('PEXPIRE', key, text(ttl))
    reply[#reply + 1] = redis.call('ZCARD', key)
  end
  return reply
end
