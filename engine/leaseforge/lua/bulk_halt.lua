-- bulk_halt: no job of a queue is acted on any more by a run of a bulk operation
--
-- A runner that has not heard yet that its operation was paused or aborted is refused from now on.
--
-- KEYS[1] guard none never exists, see _queue.lua
-- KEYS[2] part  hash the queue's part of the operation, see _bulk.lua
-- ARGV[1] run int the run that is over; a later one goes on
-- returns answer (ok, not_found), fields and values of the part
-- flags allow-oom
-- uses _queue, _bulk
local function bulk_halt(K, A)
  local halted = redis.call('HGET', K.part, 'halted')
  if redis.call('EXISTS', K.part) == 0 then
    return part_answer(K, 'not_found')
  end
  redis.call('HSET', K.part, 'halted', text(math.max(whole(halted), whole(A[1]))))
  return part_answer(K, 'ok')
end
