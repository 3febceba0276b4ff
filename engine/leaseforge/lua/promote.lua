-- promote: scheduled | retrying -> ready
--
-- Moves up to `limit` jobs whose time has come, the earliest first and equal times by id, each
-- with a new sequence: it stands behind what is already ready at its priority.
--
-- KEYS[1] guard     none never exists, see _queue.lua
-- KEYS[2] meta      hash paused, sequence, fence, limits, sweep times
-- KEYS[3] counts    hash totals
-- KEYS[4] ready     zset claimable jobs
-- KEYS[5] running   zset id -> lease expiry
-- KEYS[6] scheduled zset id -> due
-- KEYS[7] retrying  zset id -> due
-- KEYS[8] dead      zset id -> finished
-- KEYS[9] groups    hash dead groups: key -> title
-- KEYS[10] wake      list wake token
-- ARGV[1] limit int at most so many jobs, 1 to 200
-- returns how many were promoted
-- flags allow-oom
-- uses _queue
local function promote(K, A)
  check_sets(K)
  local limit = tonumber(A[1])
  local due = {}
  for _, state in ipairs({ 'scheduled', 'retrying' }) do
    local found = redis.call('ZRANGE', K[state], '-inf', text(NOW), 'BYSCORE', 'LIMIT', 0, limit, 'WITHSCORES')
    for i = 1, #found, 2 do
      due[#due + 1] = { id = found[i], at = tonumber(found[i + 1]), state = state }
    end
  end
  if #due == 0 then
    return 0
  end
  table.sort(due, function(a, b)
    return a.at < b.at or (a.at == b.at and a.id < b.id)
  end)

  local moving, corrupt, leaving = {}, {}, { scheduled = {}, retrying = {} }
  for i = 1, math.min(limit, #due) do
    local job = due[i]
    local values, fault = read_record(job.id, 'priority', 'rev', 'traceparent', 'attempts')
    table.insert(leaving[job.state], job.id)
    if not values then
      corrupt[#corrupt + 1] = { job.id, fault }
    elseif values[1] ~= job.state then
      count('dropped')
    else
      job.values = values
      moving[#moving + 1] = job
    end
  end

  local seq = redis.call('HINCRBY', K.meta, 'seq', #moving) - #moving
  local entries = {}
  for i, job in ipairs(moving) do
    entries[#entries + 1] = ready_score(job.values[2])
    entries[#entries + 1] = ready_member(seq + i, job.id)
    redis.call('HSET', record_key(job.id), 'state', 'ready', 'seq', text(seq + i), 'ready_at', text(NOW),
      'rev', text(whole(job.values[3]) + 1))
    tell_move(job.state, job.id, job.values[4], job.values[5])
  end
  for state, ids in pairs(leaving) do
    if #ids > 0 then
      redis.call('ZREM', K[state], unpack(ids))
    end
  end
  for _, fault in ipairs(corrupt) do
    quarantine(K, fault[1], fault[2])
  end
  if #moving > 0 then
    redis.call('ZADD', K.ready, unpack(entries))
    count('promoted', #moving)
    wake_if_claimable(K)
  end
  return #moving
end
