-- promote_job: scheduled | retrying -> ready
--
-- An operator lets a waiting job run now: it stands behind what is already ready at its priority.
--
-- KEYS[1] guard     none never exists, see _queue.lua
-- KEYS[2] meta      hash paused, sequence, fence, limits, sweep times
-- KEYS[3] counts    hash totals
-- KEYS[4] ready     zset claimable jobs
-- KEYS[5] running   zset id -> lease expiry
-- KEYS[6] scheduled zset id -> due
-- KEYS[7] retrying  zset id -> due
-- KEYS[8] wake      list wake token
-- ARGV[1] id        text the job
-- ARGV[2] operation text the operator's action; the same one again answers already_done
-- returns answer (ok, already_done, not_found, conflict), the job's state, empty; moves if any
-- flags allow-oom
-- uses _queue
local function promote_job(K, A)
  check_sets(K)
  local id, operation = A[1], A[2]
  local values = read_record(id, 'last_op', 'priority', 'rev', 'traceparent', 'attempts')
  if not values then
    return { 'not_found', '' }
  end
  local state = values[1]
  if values[2] == operation then
    return { 'already_done', state }
  end
  if state ~= 'scheduled' and state ~= 'retrying' then
    return { 'conflict', state }
  end
  local seq = redis.call('HINCRBY', K.meta, 'seq', 1)
  redis.call('ZREM', K[state], id)
  redis.call('HSET', record_key(id), 'state', 'ready', 'seq', text(seq), 'ready_at', text(NOW), 'last_op', operation,
    'rev', text(whole(values[4]) + 1))
  redis.call('ZADD', K.ready, ready_score(values[3]), ready_member(seq, id))
  tell_move(state, id, values[5], values[6])
  count('promoted')
  wake_if_claimable(K)
  return { 'ok', 'ready', '', moves }
end
