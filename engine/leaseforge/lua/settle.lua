-- settle: running -> completed | retrying | dead | ready | cancelled
--
-- Ends up to 200 attempts, each only under the token it was claimed with. A token that settled
-- the job already answers already_done, any other fenced; both change nothing. A failure goes to
-- retrying while its budget lasts; a release gives the job back, uncharged, to its old place.
--
-- KEYS[1] guard      none    never exists, see _queue.lua
-- KEYS[2] meta       hash    paused
-- KEYS[3] counts     hash    totals
-- KEYS[4] ready      zset    claimable jobs
-- KEYS[5] running    zset    id -> lease expiry
-- KEYS[6] retrying   zset    id -> due
-- KEYS[7] completed  zset    id -> finished
-- KEYS[8] cancelled  zset    id -> finished
-- KEYS[9] dead       zset    id -> finished
-- KEYS[10] wake      list    wake token
-- ARGV[1...] id text | token text | outcome complete, fail, release or cancelled | result bytes | detail msgpack map or empty
-- returns per job: the state it has now, or fenced, or already_done
-- flags allow-oom
-- uses _queue
local function ended_attempt(values, outcome, detail)
  local fence = string.match(values[2], '^%d+')
  return { n = tonumber(values[6]) or 0, o = outcome, w = values[5] or '', f = fence, s = tonumber(values[4]) or NOW,
    e = NOW, k = detail.kind or '', m = detail.message or '', t = detail.traceback or '' }
end

local function settle(K, A)
  local replies, accepted, seen = {}, {}, {}
  for i = 1, #A, 5 do
    local id, token = A[i], A[i + 1]
    local values = read_record(id, 'token', 'settled', 'started_at', 'worker', 'attempts', 'failures', 'rev',
      'priority', 'seq', 'cancel_requested', 'releases')
    if seen[id] == token or (values and values[3] == token) then
      replies[#replies + 1] = 'already_done'
    elseif seen[id] or not values or values[1] ~= 'running' or values[2] ~= token then
      replies[#replies + 1] = 'fenced'
      count('fenced')
    else
      seen[id] = token
      local detail = A[i + 4] ~= '' and cmsgpack.unpack(A[i + 4]) or {}
      replies[#replies + 1] = ''
      accepted[#accepted + 1] = { id = id, at = i, reply = #replies, values = values, detail = detail }
    end
  end

  local leaving, completed, woken = {}, {}, false
  for _, job in ipairs(accepted) do
    local id, values, detail, outcome = job.id, job.values, job.detail, A[job.at + 2]
    local key = record_key(id)
    local fields = { 'settled', values[2], 'token', '', 'rev', text((tonumber(values[8]) or 0) + 1) }
    local function set(name, value)
      fields[#fields + 1] = name
      fields[#fields + 1] = value
    end
    local state
    leaving[#leaving + 1] = id
    count_duration('run', NOW - (tonumber(values[4]) or NOW))
    if outcome == 'complete' then
      state = 'completed'
      completed[#completed + 1] = text(NOW)
      completed[#completed + 1] = id
      if A[job.at + 3] ~= '' then
        redis.call('SET', key .. ':out', A[job.at + 3])
      end
    else
      local failures = tonumber(values[7]) or 0
      if outcome == 'fail' then
        failures = failures + 1
        set('failures', text(failures))
        set('error_kind', detail.kind or '')
        set('error', detail.head or '')
        count('failed')
      end
      if outcome == 'fail' and (detail.permanent or ((detail.max or 0) > 0 and failures >= detail.max)) then
        state = 'dead'
        set('reason', detail.permanent or 'attempts_exhausted')
        redis.call('ZADD', K.dead, NOW, id)
        count('dead')
      elseif outcome == 'cancelled' or values[11] == '1' then
        state = 'cancelled'
        redis.call('ZADD', K.cancelled, NOW, id)
        count('cancelled')
      elseif outcome == 'fail' then
        state = 'retrying'
        redis.call('ZADD', K.retrying, text(NOW + (detail.delay or 0)), id)
        count('retried')
      else
        -- release: the old sequence puts the job back in front.
        state = 'ready'
        set('ready_at', text(NOW))
        set('releases', text((tonumber(values[12]) or 0) + 1))
        redis.call('ZADD', K.ready, text(-(tonumber(values[9]) or 0)), ready_member(tonumber(values[10]) or 0, id))
        woken = true
        count('released')
      end
      remember(id, ended_attempt(values, outcome == 'fail' and (detail.outcome or 'failed') or outcome, detail))
    end
    if state == 'completed' or state == 'dead' or state == 'cancelled' then
      set('finished_at', text(NOW))
    end
    if values[11] then
      redis.call('HDEL', key, 'cancel_requested')
    end
    set('state', state)
    redis.call('HSET', key, unpack(fields))
    replies[job.reply] = state
  end
  if #leaving > 0 then
    redis.call('ZREM', K.running, unpack(leaving))
  end
  if #completed > 0 then
    redis.call('ZADD', K.completed, unpack(completed))
    count('completed', #completed / 2)
  end
  if woken then
    wake_if_claimable(K)
  end
  return replies
end
