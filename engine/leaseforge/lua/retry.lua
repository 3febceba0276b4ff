-- retry: dead -> ready
--
-- An operator's replay of a dead job: failures and lost leases count anew, attempts, history and
-- fencing go on. With `replace` = 1 the job runs with another payload from now on.
--
-- KEYS[1] guard   none  never exists, see _queue.lua
-- KEYS[2] meta    hash  sequence, paused
-- KEYS[3] counts  hash  totals
-- KEYS[4] ready   zset  claimable jobs
-- KEYS[5] dead    zset  id -> finished
-- KEYS[6] wake    list  wake token
-- ARGV[1] id        text  the job
-- ARGV[2] operation text  the operator's action; the same one again answers already_done
-- ARGV[3] replace   int   1: `payload` replaces the job's payload
-- ARGV[4] payload   bytes the new payload
-- returns answer (ok, already_done, not_found, conflict), the job's state
-- flags allow-oom
-- uses _queue
local function retry(K, A)
  check_sets(K)
  local id, operation = A[1], A[2]
  local key = record_key(id)
  local values = read_record(id, 'last_op', 'priority', 'attempts', 'replays', 'rev', 'reason')
  if not values then
    return { 'not_found', '' }
  end
  if values[2] == operation then
    return { 'already_done', values[1] }
  end
  local payload_gone = A[3] ~= '1' and redis.call('EXISTS', key .. ':in') == 0
  if values[1] ~= 'dead' or payload_gone then
    return { 'conflict', values[1] }
  end
  local seq = redis.call('HINCRBY', K.meta, 'seq', 1)
  redis.call('ZREM', K.dead, id)
  redis.call('HDEL', key, 'failures', 'recoveries', 'error', 'error_kind', 'reason', 'finished_at')
  redis.call('HSET', key, 'state', 'ready', 'seq', text(seq), 'ready_at', text(NOW), 'last_op', operation,
    'attempts_base', text(whole(values[4])), 'replays', text(whole(values[5]) + 1),
    'rev', text(whole(values[6]) + 1))
  if A[3] == '1' then
    redis.call('SET', key .. ':in', A[4])
    if #A[4] > 16384 then
      redis.call('HSET', key, 'size', #A[4])
    else
      redis.call('HDEL', key, 'size')
    end
  end
  redis.call('ZADD', K.ready, ready_score(values[3]), ready_member(seq, id))
  count('replayed')
  wake_if_claimable(K)
  return { 'ok', 'ready' }
end
