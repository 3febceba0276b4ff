-- bulk_steer: ready | paused | stopped -> running; running -> paused; any but an ended one -> aborted
--
-- What an operator does with a bulk operation. What it is already it answers as already_done.
--
-- KEYS[1] guard     none never exists
-- KEYS[2] operation hash the operation
-- ARGV[1] verb    text run, pause, abort
-- ARGV[2] user    text who does it
-- ARGV[3] reason  text why, or empty
-- ARGV[4] keep_ms int  how long it is kept after its last change
-- returns answer (ok, already_done, not_found, conflict), its state, which run it is
-- flags allow-oom
-- uses _queue
local STEPS = {
  run = { to = 'running', ready = true, paused = true, stopped = true },
  pause = { to = 'paused', running = true },
  abort = { to = 'aborted', collecting = true, ready = true, running = true, paused = true, stopped = true },
}

local function bulk_steer(K, A)
  local values = redis.call('HMGET', K.operation, 'state', 'run', 'started_at')
  local state, run, step = values[1], whole(values[2]), STEPS[A[1]]
  if not state then
    return { 'not_found', '', 0 }
  end
  if state == step.to then
    return { 'already_done', state, run }
  end
  if not step[state] then
    return { 'conflict', state, run }
  end
  if step.to == 'running' then
    run = run + 1
    redis.call('HSET', K.operation, 'run', text(run), 'run_by', A[2], 'run_reason', A[3], 'error', '',
      'started_at', values[3] or NOW_TEXT)
  elseif step.to == 'aborted' then
    redis.call('HSET', K.operation, 'ended_at', NOW_TEXT, 'ended_by', A[2])
  end
  redis.call('HSET', K.operation, 'state', step.to)
  redis.call('PEXPIRE', K.operation, A[4])
  return { 'ok', step.to, run }
end
