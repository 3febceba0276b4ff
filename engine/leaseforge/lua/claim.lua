-- claim: ready -> running
--
-- Takes up to `want` jobs in order of priority, then of sequence, and issues a fencing token for
-- each. The same number of the same run sent again claims nothing new: it answers the jobs of the
-- first try that still run under their tokens, with renewed leases; an older number claims nothing.
-- A queue's cap and rate are kept to. An entry that does not match its record is dropped and
-- counted; a corrupt one goes to quarantine.
--
-- KEYS[1] guard   none never exists, see _queue.lua
-- KEYS[2] meta    hash paused, sequence, fence, limits, sweep times
-- KEYS[3] counts  hash totals
-- KEYS[4] types   hash job types told apart in statistics
-- KEYS[5] ready   zset claimable jobs
-- KEYS[6] running zset id -> lease expiry
-- KEYS[7] dead    zset id -> finished
-- KEYS[8] groups  hash dead groups: key -> title
-- KEYS[9] wake    list wake token
-- KEYS[10] claim   string this run's last claim: number, ids, tokens
-- ARGV[1] run_id   text  the worker's run id
-- ARGV[2] number   int   the exchange's number within the run and queue
-- ARGV[3] lease_ms int   length of the lease
-- ARGV[4] want     int   at most so many jobs, 0 to 200
-- returns status (ok, empty, paused, already_done), ms until the rate allows one or nil, 1 if more can be claimed, jobs
-- A job is answered as id, token, attempt, payload, type, created_at, ready_at, then name and value of each field
-- that only few jobs have.
-- flags allow-oom
-- uses _queue
local CLAIM_BYTES = 4194304

-- Where a record's fields stand in the table that is made of it; what few jobs have is answered by name.
local STATE, TOKEN, ATTEMPTS, SIZE, TYPE, READY_AT, SEQ, REV = 1, 2, 3, 4, 5, 7, 8, 9
local COLUMNS = { state = STATE, token = TOKEN, attempts = ATTEMPTS, size = SIZE, type = TYPE, created_at = 6,
  ready_at = READY_AT, seq = SEQ, rev = REV }
local NAMED = { content_type = true, failures = true, recoveries = true, replays = true, priority = true,
  options = true, tags = true, traceparent = true, tracestate = true }

-- A job's record and what else it has, or nil and the kind of corruption. For a short record one HGETALL
-- costs less than HMGET of many fields.
local function read_job(key)
  local flat = redis.pcall('HGETALL', key)
  if flat.err then
    if string.find(flat.err, 'WRONGTYPE', 1, true) then
      return nil, 'record_of_wrong_type'
    end
    error(flat.err)
  end
  local job, named = { false, false, false, false, false, false, false, false, false }, nil
  for i = 1, #flat, 2 do
    local column = COLUMNS[flat[i]]
    if column then
      job[column] = flat[i + 1]
    elseif NAMED[flat[i]] then
      named = named or {}
      named[#named + 1] = flat[i]
      named[#named + 1] = flat[i + 1]
    end
  end
  if not job[STATE] then
    return nil, 'record_missing'
  end
  return job, named
end

-- The table that was read is the one that is answered.
local function hand_out(job, named, id, token, attempt, payload)
  job[1], job[2], job[3], job[4], job[8], job[9] = id, token, attempt, payload, nil, nil
  for i = 1, named and #named or 0 do
    job[7 + i] = named[i]
  end
  return job
end

local function adopt(K, last, lease)
  local jobs, scores = {}, {}
  for i = 2, #last, 2 do
    local id, token = last[i], last[i + 1]
    local job, named = read_job(record_key(id))
    if job and job[STATE] == 'running' and job[TOKEN] == token then
      local payload = redis.call('MGET', record_key(id) .. ':in')[1]
      jobs[#jobs + 1] = hand_out(job, named, id, token, job[ATTEMPTS] or '1', payload or '')
      scores[#scores + 1] = text(NOW + lease)
      scores[#scores + 1] = id
    end
  end
  if #scores > 0 then
    redis.call('ZADD', K.running, 'XX', unpack(scores))
  end
  -- What this exchange settled and promoted before it came here has woken nobody yet.
  local more = redis.call('ZCARD', K.ready) > 0 and allowance(K, 1) > 0
  if more then
    wake(K)
  end
  return { 'already_done', false, more and 1 or 0, jobs }
end

local function claim(K, A)
  check_sets(K)
  local run_id, number, lease, want = A[1], A[2], tonumber(A[3]), tonumber(A[4])
  local meta = redis.call('HMGET', K.meta, 'fence', 'lease_ms')
  if want > 0 then
    local last = redis.call('GET', K.claim)
    last = last and cmsgpack.unpack(last)
    if last and last[1] == number then
      return adopt(K, last, lease)
    end
    -- Sent again long ago and under way all the time: nobody waits for what it would claim.
    if last and whole(last[1]) > whole(number) then
      return adopt(K, {}, lease)
    end
  end
  local allowed, paused, bucket, rate = allowance(K, want + 1)
  if paused then
    return { 'paused', false, 0, {} }
  end

  local most = math.min(want, allowed)
  local entries = most > 0 and redis.call('ZRANGE', K.ready, 0, most - 1) or {}
  local taken, extras, ids, keys, payload_keys, leaving, corrupt, bytes = {}, {}, {}, {}, {}, {}, {}, 0
  for _, entry in ipairs(entries) do
    local id = entry_id(entry)
    local key = record_key(id)
    local job, named = read_job(key)
    if not job then
      leaving[#leaving + 1] = entry
      corrupt[#corrupt + 1] = { id, named }
    elseif job[STATE] == 'ready' and not job[SEQ] then
      leaving[#leaving + 1] = entry
      corrupt[#corrupt + 1] = { id, 'sequence_missing' }
    elseif job[STATE] ~= 'ready' or ready_member(job[SEQ], id) ~= entry then
      leaving[#leaving + 1] = entry
      count('dropped')
    else
      bytes = bytes + (tonumber(job[SIZE]) or 16384)
      if bytes > CLAIM_BYTES and #taken > 0 then
        break
      end
      local n = #taken + 1
      leaving[#leaving + 1] = entry
      ids[n], taken[n], extras[n], keys[n], payload_keys[n] = id, job, named, key, key .. ':in'
    end
  end
  local payloads = #taken > 0 and redis.call('MGET', unpack(payload_keys)) or {}

  local fence = math.max(whole(meta[1]) + 1, NOW_US)
  local suffix, expiry = '.' .. run_id, text(NOW + lease)
  local jobs, scores, claimed = {}, {}, { number }
  for i, job in ipairs(taken) do
    local id = ids[i]
    if not payloads[i] then
      corrupt[#corrupt + 1] = { id, 'payload_missing' }
    else
      local token = text(fence) .. suffix
      local attempt = text(whole(job[ATTEMPTS]) + 1)
      local n = #jobs + 1
      fence = fence + 1
      redis.call('HSET', keys[i], 'state', 'running', 'token', token, 'worker', run_id,
        'started_at', NOW_TEXT, 'attempts', attempt, 'rev', text(whole(job[REV]) + 1))
      count_duration(K, 'wait', NOW - (tonumber(job[READY_AT]) or NOW), job[TYPE])
      jobs[n] = hand_out(job, extras[i], id, token, attempt, payloads[i])
      scores[2 * n - 1], scores[2 * n] = expiry, id
      claimed[2 * n], claimed[2 * n + 1] = id, token
    end
  end
  if #leaving > 0 then
    redis.call('ZREM', K.ready, unpack(leaving))
  end
  for _, fault in ipairs(corrupt) do
    quarantine(K, fault[1], fault[2])
  end
  if #jobs > 0 then
    redis.call('ZADD', K.running, unpack(scores))
    redis.call('SET', K.claim, cmsgpack.pack(claimed), 'PX', text(2 * lease))
    redis.call('HSET', K.meta, 'fence', text(fence), 'lease_ms', text(math.max(whole(meta[2]), lease)))
    if bucket then
      redis.call('HSET', K.meta, 'tokens', string.format('%.6f', bucket - #jobs), 'tokens_at', text(NOW))
    end
    count('claimed', #jobs)
  end
  -- The baton: one claim wakes at most one more worker, and only if work is left.
  local left = redis.call('ZCARD', K.ready) > 0
  local more = left and allowed > #jobs
  if more then
    wake(K)
  end
  local wait = false
  if bucket and left and bucket - #jobs < 1 then
    wait = math.max(1, math.ceil((1 - bucket + #jobs) * 1000 / rate))
  end
  return { (#jobs > 0 and 'ok') or 'empty', wait, more and 1 or 0, jobs }
end
