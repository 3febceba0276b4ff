-- resume: jobs of a paused queue can be claimed again
--
-- KEYS[1] guard   none never exists, see _queue.lua
-- KEYS[2] meta    hash paused, sequence, fence, limits, sweep times
-- KEYS[3] ready   zset claimable jobs
-- KEYS[4] running zset id -> lease expiry
-- KEYS[5] wake    list wake token
-- returns ok, already_done (it was not paused), not_found (no such queue)
-- flags allow-oom
-- uses _queue
local function resume(K, A)
  check_sets(K)
  if redis.call('EXISTS', K.meta) == 0 then
    return 'not_found'
  end
  local resumed = redis.call('HDEL', K.meta, 'paused') == 1
  wake_if_claimable(K)
  return resumed and 'ok' or 'already_done'
end
