-- progress: a running job says how far it is
--
-- KEYS[1] guard  none never exists, see _queue.lua
-- KEYS[2] counts hash totals
-- ARGV[1] id       text the job
-- ARGV[2] token    text the token it was claimed with
-- ARGV[3] progress text percent, a space, a note of at most 48 bytes
-- returns ok, cancelled (stored, but the handler is to stop), fenced
-- flags allow-oom
-- uses _queue
local function progress(K, A)
  local values = read_record(A[1], 'token', 'cancel_requested')
  if not values or values[1] ~= 'running' or values[2] ~= A[2] then
    count('fenced')
    return 'fenced'
  end
  redis.call('HSET', record_key(A[1]), 'progress', A[3])
  return values[3] == '1' and 'cancelled' or 'ok'
end
