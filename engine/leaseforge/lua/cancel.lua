-- cancel: ready | scheduled | retrying -> cancelled; running -> running, asked to stop
--
-- A running job keeps its lease until its worker has heard of it at the next renewal; if it
-- completes or fails for good first, that counts.
--
-- KEYS[1] guard     none never exists, see _queue.lua
-- KEYS[2] counts    hash totals
-- KEYS[3] ready     zset claimable jobs
-- KEYS[4] scheduled zset id -> due
-- KEYS[5] retrying  zset id -> due
-- KEYS[6] cancelled zset id -> finished
-- ARGV[1] id        text the job
-- ARGV[2] operation text the operator's action; the same one again answers already_done
-- ARGV[3] only      text states it may be in, apart by spaces; empty: any of them
-- returns answer (ok, already_done, not_found, conflict), the job's state
-- flags allow-oom
-- uses _queue
local function cancel(K, A)
  check_sets(K)
  local id, operation = A[1], A[2]
  local values = read_record(id, 'last_op', 'seq', 'rev', 'unique_key', 'cancel_requested')
  if not values then
    return { 'not_found', '' }
  end
  local state = values[1]
  if values[2] == operation then
    return { 'already_done', state }
  end
  local only = A[3] or ''
  if only ~= '' and not string.find(' ' .. only .. ' ', ' ' .. state .. ' ', 1, true) then
    return { 'conflict', state }
  end
  local key = record_key(id)
  local rev = text(whole(values[4]) + 1)
  if state == 'running' then
    redis.call('HSET', key, 'cancel_requested', '1', 'last_op', operation, 'rev', rev)
    return { 'ok', state }
  end
  if ENDED[state] then
    return { 'conflict', state }
  end
  redis.call('ZREM', K[state], state == 'ready' and ready_member(values[3], id) or id)
  redis.call('HSET', key, 'state', 'cancelled', 'finished_at', text(NOW), 'last_op', operation, 'rev', rev)
  redis.call('ZADD', K.cancelled, NOW, id)
  free_unique(id, values[5])
  count('cancelled')
  return { 'ok', 'cancelled' }
end
