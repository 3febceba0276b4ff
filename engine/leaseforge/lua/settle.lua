-- settle: running -> completed | retrying | dead | ready | cancelled
--
-- Ends up to 200 attempts, each only under the token it was claimed with. A token that settled
-- the job already answers already_done, any other fenced; both change nothing. A failure goes to
-- retrying while its budget lasts, a crash while the budget it shares with recover does; a release
-- gives the job back, uncharged, to its old place. Only an accepted completion stores follow-ups: of
-- this queue as jobs, of another one in the outbox.
--
-- KEYS[1] guard     none never exists, see _queue.lua
-- KEYS[2] meta      hash paused, sequence, fence, limits, sweep times
-- KEYS[3] counts    hash totals
-- KEYS[4] types     hash job types told apart in statistics
-- KEYS[5] ready     zset claimable jobs
-- KEYS[6] running   zset id -> lease expiry
-- KEYS[7] scheduled zset id -> due
-- KEYS[8] retrying  zset id -> due
-- KEYS[9] completed zset id -> finished
-- KEYS[10] cancelled zset id -> finished
-- KEYS[11] dead      zset id -> finished
-- KEYS[12] groups    hash dead groups: key -> title
-- KEYS[13] outbox    hash follow-ups for other queues
-- KEYS[14] wake      list wake token
-- ARGV[1...] id text | token text | outcome complete, fail, crash, release or cancelled | result bytes | detail msgpack map or empty | follow_ups packed jobs or empty
-- returns per job: the state it has now, or fenced, or already_done
-- flags allow-oom
-- uses _queue, _crash, enqueue
-- How the history calls what a worker presents.
local ENDED_AS = { fail = 'failed', crash = 'crashed', release = 'released', cancelled = 'cancelled' }

-- Ends one attempt other than by success: answers the state it led to and adds that state's fields.
local function settle_unsuccessful(K, id, token, outcome, detail, set)
  local values = read_record(id, 'started_at', 'worker', 'attempts', 'failures', 'priority', 'seq', 'releases',
    'cancel_requested', 'type', 'recoveries')
  local state
  local failures = whole(values[5])
  if outcome == 'fail' then
    failures = failures + 1
    set('failures', text(failures))
    set('error_kind', detail.kind or '')
    set('error', detail.head or '')
    count('failed')
    count_type(K, 'failed', values[10])
  end
  if outcome == 'crash' then
    set('error_kind', detail.kind or '')
    set('error', detail.head or '')
    count('crashed')
    state = charge_crash(K, id, { recoveries = values[11], cancel_requested = values[9], type = values[10],
      priority = values[6], seq = values[7] }, whole(detail.max), whole(detail.delay), set)
  elseif outcome == 'fail' and (detail.permanent or ((detail.max or 0) > 0 and failures >= detail.max)) then
    state = 'dead'
    set('reason', detail.permanent or 'attempts_exhausted')
    set('finished_at', text(NOW))
    set('fp', join_group(K, id, detail.group or 'unknown', detail.title or 'unknown\n\n'))
    redis.call('ZADD', K.dead, NOW, id)
    count('dead')
    count_type(K, 'dead', values[10])
  elseif outcome == 'cancelled' or values[9] == '1' then
    state = 'cancelled'
    set('finished_at', text(NOW))
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
    set('releases', text(whole(values[8]) + 1))
    redis.call('ZADD', K.ready, ready_score(values[6]), ready_member(values[7], id))
    count('released')
  end
  remember(id, { n = whole(values[4]), o = detail.outcome or ENDED_AS[outcome],
    w = values[3] or '', f = string.match(token, '^%d+'), s = tonumber(values[2]) or NOW, e = NOW,
    k = detail.kind or '', m = detail.message or '', t = detail.traceback or '' })
  return state
end

-- Follow-ups are packed as strings with their lengths before them: a queue, then what enqueue takes.
-- Those of this queue are added to `flat`, each with its parent, the others go to the outbox under their own id.
local function unpack_follow_ups(K, parent, packed, flat, parents)
  local at, fields = 1, {}
  while at <= #packed do
    fields[#fields + 1], at = struct.unpack('>I4c0', packed, at)
    if #fields == 7 then
      if fields[1] == '' then
        for i = 2, 7 do
          flat[#flat + 1] = fields[i]
        end
        parents[#parents + 1] = parent
      else
        local entry = struct.pack('>I4c0', #parent, parent)
        for i = 1, 7 do
          entry = entry .. struct.pack('>I4c0', #fields[i], fields[i])
        end
        redis.call('HSET', K.outbox, fields[2], entry)
      end
      fields = {}
    end
  end
end

-- Ends one attempt by success. Of `values` here and below: what `settle` read of the record.
local function complete(key, values, token, result)
  if result ~= '' then
    redis.call('SET', key .. ':out', result)
  end
  redis.call('HSET', key, 'settled', token, 'rev', text(whole(values[4]) + 1), 'finished_at', NOW_TEXT,
    'state', 'completed')
end

-- Ends one attempt in any other way; answers the state it led to.
local function end_otherwise(K, id, key, values, token, outcome, detail)
  local fields = { 'settled', token, 'rev', text(whole(values[4]) + 1) }
  local function set(name, value)
    fields[#fields + 1] = name
    fields[#fields + 1] = value
  end
  local state = settle_unsuccessful(K, id, token, outcome, detail, set)
  set('state', state)
  redis.call('HSET', key, unpack(fields))
  return state
end

local function settle(K, A)
  check_sets(K)
  local replies, seen = {}, {}
  -- Of each attempt accepted: its place in A and in the replies, its record's key and fields.
  local places, slots, keys, records, details = {}, {}, {}, {}, {}
  for i = 1, #A, 6 do
    local id, token = A[i], A[i + 1]
    local values = read_record(id, 'token', 'started_at', 'rev', 'type', 'cancel_requested', 'unique_key')
    local n = #replies + 1
    if seen[id] or not values or values[1] ~= 'running' or values[2] ~= token then
      if seen[id] == token or (values and redis.call('HGET', record_key(id), 'settled') == token) then
        replies[n] = 'already_done'
      else
        replies[n] = 'fenced'
        count('fenced')
      end
    else
      seen[id] = token
      replies[n] = 'completed'
      local m = #places + 1
      places[m], slots[m], keys[m], records[m] = i, n, record_key(id), values
      if A[i + 4] ~= '' then
        details[m] = cmsgpack.unpack(A[i + 4])
      end
    end
  end

  local leaving, completed, types, follow_ups, parents = {}, {}, {}, {}, {}
  for m, at in ipairs(places) do
    local id, token, key, values = A[at], A[at + 1], keys[m], records[m]
    local state = 'completed'
    leaving[m] = id
    count_duration(K, 'run', NOW - (tonumber(values[3]) or NOW), values[5])
    if A[at + 2] == 'complete' then
      complete(key, values, token, A[at + 3])
      completed[#completed + 1] = NOW_TEXT
      completed[#completed + 1] = id
      local job_type = values[5] or 'unknown'
      types[job_type] = (types[job_type] or 0) + 1
      if A[at + 5] ~= '' then
        unpack_follow_ups(K, id, A[at + 5], follow_ups, parents)
      end
    else
      state = end_otherwise(K, id, key, values, token, A[at + 2], details[m] or {})
      replies[slots[m]] = state
    end
    if ENDED[state] then
      free_unique(id, values[7])
    end
    if values[6] then
      redis.call('HDEL', key, 'cancel_requested')
    end
  end
  if #leaving > 0 then
    redis.call('ZREM', K.running, unpack(leaving))
  end
  if #completed > 0 then
    redis.call('ZADD', K.completed, unpack(completed))
    count('completed', #completed / 2)
    for job_type, n in pairs(types) do
      count_type(K, 'completed', job_type, n)
    end
  end
  if #follow_ups > 0 then
    local stored = enqueue(K, follow_ups)
    for i, parent in ipairs(parents) do
      if stored[2 * i] == 'refused' then
        refuse_follow_up(parent, 'follow-up ' .. follow_ups[6 * i - 5] .. ' refused: its idempotency key was used for another job')
      end
    end
  end
  if #leaving > 0 then
    wake_if_claimable(K)
  end
  return replies
end
