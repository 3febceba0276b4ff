-- pause: no claim succeeds after it has returned
--
-- Running jobs go on; enqueue, promotion and recovery too.
--
-- KEYS[1] guard  none  never exists, see _queue.lua
-- KEYS[2] meta   hash  paused
-- returns ok, already_done (it was paused), not_found (no such queue)
-- flags allow-oom
-- uses _queue
local function pause(K, A)
  if redis.call('EXISTS', K.meta) == 0 then
    return 'not_found'
  end
  return redis.call('HSET', K.meta, 'paused', '1') == 1 and 'ok' or 'already_done'
end
