-- enqueue: (nothing) -> ready | scheduled
--
-- Stores up to 1,000 jobs. A job whose record exists, or whose idempotency key was used within
-- 24 h, is not stored again: same body answers the first id, another body is refused. Nor is one
-- whose unique key a live job holds. Refused as a whole by a full server (no allow-oom).
--
-- KEYS[1] guard     none never exists, see _queue.lua
-- KEYS[2] meta      hash paused, sequence, fence, limits, sweep times
-- KEYS[3] counts    hash totals
-- KEYS[4] ready     zset claimable jobs
-- KEYS[5] running   zset id -> lease expiry
-- KEYS[6] scheduled zset id -> due
-- KEYS[7] wake      list wake token
-- ARGV[1...] id text | type text | payload bytes | priority int32 | delay_ms int | extra msgpack map or empty
-- returns 1 if the queue had never had a job, then per job: answer (created, duplicate, refused), id; last the time in ms
-- uses _queue
local OPTIONAL = { 'content_type', 'options', 'tags', 'traceparent', 'tracestate', 'created_by' }
local NOTHING = {}

local function enqueue(K, A)
  check_sets(K)
  local replies, fresh, seen, keyed, unique = { 0 }, {}, {}, {}, {}
  local to_ready = 0
  local is_new = redis.call('EXISTS', K.meta) == 0

  for i = 1, #A, 6 do
    local id = A[i]
    local extra = A[i + 5] ~= '' and cmsgpack.unpack(A[i + 5]) or NOTHING
    local answer, first = 'created', id
    if seen[id] or redis.call('EXISTS', record_key(id)) == 1 then
      answer = 'duplicate'
    elseif extra.idem then
      local used = keyed[extra.idem] or redis.call('GET', PREFIX .. 'idem:' .. extra.idem)
      if used then
        first = string.sub(used, 66)
        answer = string.sub(used, 1, 64) == extra.body and 'duplicate' or 'refused'
      end
    end
    if answer == 'created' and extra.unique then
      local holder = unique[extra.unique] or unique_holder(id, extra.unique)
      if holder then
        answer, first = 'duplicate', holder
      else
        unique[extra.unique] = id
      end
    end
    if answer == 'created' then
      seen[id] = true
      if extra.idem then
        keyed[extra.idem] = extra.body .. ' ' .. id
      end
      local due = extra.at_ms or (NOW + tonumber(A[i + 4]))
      if due <= NOW then
        to_ready = to_ready + 1
        due = nil
      end
      fresh[#fresh + 1] = { at = i, extra = extra, due = due }
    end
    replies[#replies + 1] = answer
    replies[#replies + 1] = first
  end
  replies[#replies + 1] = NOW

  if #fresh == 0 then
    return replies
  end
  replies[1] = is_new and 1 or 0
  local seq = redis.call('HINCRBY', K.meta, 'seq', to_ready) - to_ready
  local entries = {}
  for _, job in ipairs(fresh) do
    local i, extra = job.at, job.extra
    local id, payload, priority = A[i], A[i + 2], A[i + 3]
    local key = record_key(id)
    local fields = { 'type', A[i + 1], 'created_at', NOW_TEXT, 'rev', '1' }
    local function set(name, value)
      fields[#fields + 1] = name
      fields[#fields + 1] = value
    end
    if priority ~= '0' then
      set('priority', priority)
    end
    if extra ~= NOTHING then
      for _, name in ipairs(OPTIONAL) do
        if extra[name] then
          set(name, extra[name])
        end
      end
    end
    if extra.unique then
      set('unique_key', extra.unique)
      set('unique_ttl', text(extra.unique_ttl))
      take_unique(id, extra.unique, text(extra.unique_ttl))
    end
    -- Only a large payload states its size: a claim adds sizes up before it fetches anything.
    if #payload > 16384 then
      set('size', #payload)
    end
    if job.due then
      set('state', 'scheduled')
      set('scheduled_at', text(job.due))
      redis.call('ZADD', K.scheduled, text(job.due), id)
    else
      seq = seq + 1
      set('state', 'ready')
      set('seq', text(seq))
      set('ready_at', NOW_TEXT)
      entries[#entries + 1] = ready_score(priority)
      entries[#entries + 1] = ready_member(seq, id)
    end
    redis.call('HSET', key, unpack(fields))
    redis.call('SET', key .. ':in', payload)
    if extra.idem then
      redis.call('SET', PREFIX .. 'idem:' .. extra.idem, extra.body .. ' ' .. id, 'PX', 86400000)
    end
  end
  if #entries > 0 then
    redis.call('ZADD', K.ready, unpack(entries))
  end
  count('enqueued', #fresh)
  if to_ready > 0 then
    wake_if_claimable(K)
  end
  return replies
end
