-- bulk_steer: ready | paused | stopped -> running; running -> paused; any but an ended one -> aborted
--
-- What an operator does with a bulk operation. What it is already it answers as already_done, and leaves as it is.
-- A discard aborts one that was never run, and nothing else.
--
-- KEYS[1] guard     none never exists
-- KEYS[2] operation hash the operation
-- ARGV[1] verb    text run, pause, abort
-- ARGV[2] user    text who does it
-- ARGV[3] reason  text why, or empty
-- ARGV[4] keep_ms int  how long it is kept after its last change
-- ARGV[5...] field text | value text
-- returns answer (ok, already_done, not_found, conflict), its state, which run it is
-- flags allow-oom
-- uses _queue
local STEPS = {
  run = { to = 'running', ready = true, paused = true, stopped = true },
  pause = { to = 'paused', running = true },
  discard = { to = 'aborted', collecting = true, ready = true },
  abort = { to = 'aborted', collecting = true, ready = true, running = true, paused = true, stopped = true },
}

-- Jobs it is through with, whatever came of them.
local function jobs_taken(key)
  local values = redis.call('HMGET', key, 'done', 'changed', 'gone', 'failed')
  local taken = whole(values[1]) + whole(values[2]) + whole(values[3])
  local fine, failed = pcall(cjson.decode, values[4] or '{}')
  for _, n in pairs(fine and type(failed) == 'table' and failed or {}) do
    taken = taken + whole(n)
  end
  return taken
end

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
      'started_at', values[3] or NOW_TEXT, 'run_at', NOW_TEXT, 'run_from', text(jobs_taken(K.operation)))
  elseif step.to == 'aborted' then
    redis.call('HSET', K.operation, 'ended_at', NOW_TEXT, 'ended_by', A[2])
  end
  redis.call('HSET', K.operation, 'state', step.to)
  for i = 5, #A, 2 do
    redis.call('HSET', K.operation, A[i], A[i + 1])
  end
  redis.call('PEXPIRE', K.operation, A[4])
  return { 'ok', step.to, run }
end
