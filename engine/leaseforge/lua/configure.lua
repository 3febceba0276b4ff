-- configure: sets or clears a queue's cap, rate and retention
--
-- An empty value clears its field, `~` leaves it as it is. A raised cap or rate wakes a worker at once.
--
-- KEYS[1] guard   none never exists, see _queue.lua
-- KEYS[2] meta    hash paused, sequence, fence, limits, sweep times
-- KEYS[3] ready   zset claimable jobs
-- KEYS[4] running zset id -> lease expiry
-- KEYS[5] wake    list wake token
-- ARGV[1] max_running  int   at most so many jobs run at a time
-- ARGV[2] rate         float claims per second
-- ARGV[3] burst        int   claims that may be saved up, 1 at least
-- ARGV[4] keep_ms      int   age at which completed and cancelled jobs are trimmed
-- ARGV[5] keep         int   so many completed, and so many cancelled ones are kept
-- ARGV[6] dead_keep_ms int   age at which dead jobs are trimmed
-- ARGV[7] dead_keep    int   so many dead ones are kept
-- returns ok, not_found (no such queue)
-- flags allow-oom
-- uses _queue
local function configure(K, A)
  if redis.call('EXISTS', K.meta) == 0 then
    return 'not_found'
  end
  local changes = { max_running = A[1], rate = A[2], burst = A[3], keep_ms = A[4], keep = A[5],
    dead_keep_ms = A[6], dead_keep = A[7] }
  for name, value in pairs(changes) do
    if value == '' then
      redis.call('HDEL', K.meta, name)
    elseif value ~= '~' then
      redis.call('HSET', K.meta, name, value)
    end
  end
  if A[2] ~= '~' or A[3] ~= '~' then
    -- A new rate begins with a full bucket; what the old one held means nothing under it.
    redis.call('HDEL', K.meta, 'tokens', 'tokens_at')
  end
  wake_if_claimable(K)
  return 'ok'
end
