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
-- flags allow-oom
-- uses _queue
local CLAIM_BYTES = 4194304

local function claimed_fields(id, token, attempt, job, payload)
  return { id, token, job.type or false, job.content_type or false, attempt, job.failures or false,
    job.recoveries or false, job.replays or false, job.priority or false, job.options or false,
    job.created_at or false, job.ready_at or false, job.tags or false, job.traceparent or false, payload }
end

local function adopt(K, last, lease)
  local jobs, scores = {}, {}
  for i = 2, #last, 2 do
    local id, token = last[i], last[i + 1]
    local job = read_whole_record(id)
    if job and job.state == 'running' and job.token == token then
      local payload = redis.call('MGET', record_key(id) .. ':in')[1]
      jobs[#jobs + 1] = claimed_fields(id, token, job.attempts or '1', job, payload or '')
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
  local taken, keys, leaving, corrupt, bytes = {}, {}, {}, {}, 0
  for _, entry in ipairs(entries) do
    local id = entry_id(entry)
    local job, fault = read_whole_record(id)
    if not job then
      leaving[#leaving + 1] = entry
      corrupt[#corrupt + 1] = { id, fault }
    elseif job.state == 'ready' and not job.seq then
      leaving[#leaving + 1] = entry
      corrupt[#corrupt + 1] = { id, 'sequence_missing' }
    elseif job.state ~= 'ready' or ready_member(job.seq, id) ~= entry then
      leaving[#leaving + 1] = entry
      count('dropped')
    else
      bytes = bytes + (tonumber(job.size) or 16384)
      if bytes > CLAIM_BYTES and #taken > 0 then
        break
      end
      taken[#taken + 1] = { id, entry, job }
      keys[#keys + 1] = record_key(id) .. ':in'
    end
  end
  local payloads = #keys > 0 and redis.call('MGET', unpack(keys)) or {}

  local fence = math.max(whole(meta[1]) + 1, NOW_US)
  local jobs, scores, claimed = {}, {}, { number }
  for i, entry in ipairs(taken) do
    local id, job = entry[1], entry[3]
    leaving[#leaving + 1] = entry[2]
    if not payloads[i] then
      corrupt[#corrupt + 1] = { id, 'payload_missing' }
    else
      local token = text(fence) .. '.' .. run_id
      local attempt = text(whole(job.attempts) + 1)
      fence = fence + 1
      redis.call('HSET', record_key(id), 'state', 'running', 'token', token, 'worker', run_id,
        'started_at', text(NOW), 'attempts', attempt,
        'rev', text(whole(job.rev) + 1))
      jobs[#jobs + 1] = claimed_fields(id, token, attempt, job, payloads[i])
      scores[#scores + 1] = text(NOW + lease)
      scores[#scores + 1] = id
      claimed[#claimed + 1] = id
      claimed[#claimed + 1] = token
      count_duration(K, 'wait', NOW - (tonumber(job.ready_at) or NOW), job.type)
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
