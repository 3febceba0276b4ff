-- renew: running -> running, with a later lease expiry
--
-- Renews up to 200 leases, each only under its token; a lease whose time is over is renewed too
-- as long as recovery has not taken the job.
--
-- KEYS[1] guard   none never exists, see _queue.lua
-- KEYS[2] meta    hash paused, sequence, fence, limits, sweep times
-- KEYS[3] counts  hash totals
-- KEYS[4] running zset id -> lease expiry
-- ARGV[1] lease_ms int length of the lease from now
-- ARGV[2...] id text | token text
-- returns per job: ok, cancelled (renewed, but the handler is to stop), already_done, fenced
-- flags allow-oom
-- uses _queue
local function renew(K, A)
  local lease = tonumber(A[1])
  local longest = whole(redis.call('HGET', K.meta, 'lease_ms'))
  local replies, scores = {}, {}
  for i = 2, #A, 2 do
    local id, token = A[i], A[i + 1]
    local values = read_record(id, 'token', 'settled', 'cancel_requested')
    if values and values[1] == 'running' and values[2] == token then
      replies[#replies + 1] = values[4] == '1' and 'cancelled' or 'ok'
      scores[#scores + 1] = text(NOW + lease)
      scores[#scores + 1] = id
    elseif values and values[3] == token then
      replies[#replies + 1] = 'already_done'
    else
      replies[#replies + 1] = 'fenced'
      count('fenced')
    end
  end
  if #scores > 0 then
    redis.call('ZADD', K.running, unpack(scores))
    if lease > longest then
      redis.call('HSET', K.meta, 'lease_ms', text(lease))
    end
  end
  return replies
end
