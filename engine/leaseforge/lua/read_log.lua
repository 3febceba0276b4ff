-- read_log: the log lines of one job
--
-- KEYS[1] guard none never exists, see _queue.lua
-- ARGV[1] id text the job
-- returns the lines, oldest first, msgpack: number, time, fencing integer, text
-- flags no-writes
-- uses _queue
local function read_log(K, A)
  local lines = redis.pcall('LRANGE', record_key(A[1]) .. ':log', 0, -1)
  return lines.err and {} or lines
end
