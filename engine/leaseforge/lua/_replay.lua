-- What retry and requeue share: an ended job becomes ready once more, behind what waits already.
-- Answers, beside ok: already_done (same operation), not_found, conflict with the state it is in or
-- with the live job that holds its unique key.
local function replay(K, id, operation, may_replay, payload)
  local key = record_key(id)
  local values = read_record(id, 'last_op', 'priority', 'attempts', 'replays', 'rev', 'fp', 'unique_key', 'unique_ttl',
    'traceparent')
  if not values then
    return { 'not_found', '', '' }
  end
  if values[2] == operation then
    return { 'already_done', values[1], '' }
  end
  if not may_replay[values[1]] or (not payload and redis.call('EXISTS', key .. ':in') == 0) then
    return { 'conflict', values[1], '' }
  end
  local holder = values[8] and unique_holder(id, values[8])
  if holder then
    return { 'conflict', values[1], holder }
  end
  local seq = redis.call('HINCRBY', K.meta, 'seq', 1)
  redis.call('ZREM', K[values[1]], id)
  if values[1] == 'dead' then
    leave_group(K, id, values[7])
  end
  if values[8] then
    take_unique(id, values[8], values[9])
  end
  redis.call('HDEL', key, 'failures', 'recoveries', 'error', 'error_kind', 'reason', 'fp', 'finished_at', 'progress')
  redis.call('UNLINK', key .. ':out')
  redis.call('HSET', key, 'state', 'ready', 'seq', text(seq), 'ready_at', text(NOW), 'last_op', operation,
    'attempts_base', text(whole(values[4])), 'replays', text(whole(values[5]) + 1),
    'rev', text(whole(values[6]) + 1))
  if payload then
    redis.call('SET', key .. ':in', payload)
    if #payload > 16384 then
      redis.call('HSET', key, 'size', #payload)
    else
      redis.call('HDEL', key, 'size')
    end
  end
  redis.call('ZADD', K.ready, ready_score(values[3]), ready_member(seq, id))
  tell_move('replayed:' .. values[1], id, values[10], values[4])
  count('replayed')
  wake_if_claimable(K)
  return { 'ok', 'ready', '', moves }
end
