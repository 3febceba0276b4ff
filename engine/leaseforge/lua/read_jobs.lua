-- read_jobs: one page of a queue's jobs in one state
--
-- Ready in claim order, scheduled and retrying by due time, running by lease expiry, ended ones
-- newest first.
--
-- KEYS[1] guard  none  never exists, see _queue.lua
-- KEYS[2] set    zset  the state's set
-- ARGV[1] state  text  the state
-- ARGV[2] offset int   jobs to pass over
-- ARGV[3] limit  int   at most so many, 1 to 100
-- returns total, then per job: id, record fields and values, score
-- flags no-writes
-- uses _queue
local function read_jobs(K, A)
  local state, offset, limit = A[1], tonumber(A[2]), tonumber(A[3])
  local newest_first = state == 'completed' or state == 'cancelled' or state == 'dead'
  local read = newest_first and 'ZREVRANGE' or 'ZRANGE'
  local found = spare(redis.pcall(read, K.set, offset, offset + limit - 1, 'WITHSCORES'))
  if found.err then  -- a foreign key: whatever it holds, it is no jobs
    return { 0, {} }
  end
  local jobs = {}
  for i = 1, #found, 2 do
    local id = state == 'ready' and entry_id(found[i]) or found[i]
    local record = redis.pcall('HGETALL', record_key(id))
    jobs[#jobs + 1] = { id, record.err and {} or record, found[i + 1] }
  end
  return { redis.call('ZCARD', K.set), jobs }
end
