-- read_held: how jobs of a worker's report stand: their leases, and under which token they run
--
-- KEYS[1] guard   none never exists, see _queue.lua
-- KEYS[2] running zset id -> lease expiry
-- ARGV[1...] id text
-- returns now, then per id: token, lease expiry, attempts, progress, cancel_requested; empty: it does not run
-- flags no-writes
-- uses _queue
local function read_held(K, A)
  local rows = {}
  for i = 1, #A do
    local expiry = spare(redis.pcall('ZSCORE', K.running, A[i]))
    local fields = redis.pcall('HMGET', record_key(A[i]), 'token', 'attempts', 'progress', 'cancel_requested')
    if type(expiry) == 'string' and not fields.err then
      rows[i] = { fields[1], expiry, fields[2], fields[3], fields[4] }
    else
      rows[i] = {}
    end
  end
  return { NOW, rows }
end
