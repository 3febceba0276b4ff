-- read_job: one job as it is at one instant
--
-- KEYS[1] guard      none  never exists, see _queue.lua
-- KEYS[2] running    zset  id -> lease expiry
-- KEYS[3] scheduled  zset  id -> due
-- KEYS[4] retrying   zset  id -> due
-- ARGV[1] id      text the job
-- ARGV[2] content int  0: without payload, result and history
-- returns record fields and values, payload, result, history entries, due or lease expiry; or empty
-- flags no-writes
-- uses _queue
local function read_job(K, A)
  local id = A[1]
  local key = record_key(id)
  local record = redis.pcall('HGETALL', key)
  if record.err or #record == 0 then
    return {}
  end
  local values, history = { false, false }, {}
  if A[2] ~= '0' then
    values = redis.call('MGET', key .. ':in', key .. ':out')
    history = redis.pcall('LRANGE', key .. ':history', 0, -1)
  end
  local state = redis.call('HGET', key, 'state')
  local score = K[state] and spare(redis.pcall('ZSCORE', K[state], id))
  return { record, values[1], values[2], history.err and {} or history, type(score) == 'string' and score }
end
