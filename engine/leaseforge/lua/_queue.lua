-- What the scripts of one queue share: job keys, counting, the wake token, history, quarantine.
-- KEYS[1] is always the guard, which never exists: in a slot that is being moved the server
-- then answers TRYAGAIN instead of showing half a queue.
local PREFIX = string.sub(KEYS[1], 1, -6)
local RECORDS = PREFIX .. 'job:'

local function record_key(id)
  return RECORDS .. id
end

-- A number out of a record. Damaged text counts as 0: raised in mid-script it would leave half a transition.
local function whole(value)
  local n = tonumber(value)
  return n and n > -9e15 and n < 9e15 and n or 0
end

local function ready_member(seq, id)
  return string.format('%016d', whole(seq)) .. id
end

-- Higher priorities first. Never -0, which a small set gives back as 0 and a large one as -0.
local function ready_score(priority)
  return text(0 - whole(priority))
end

-- The job of an entry in ready; an entry too short to be one of ours stands for itself.
local function entry_id(entry)
  return #entry > 16 and string.sub(entry, 17) or entry
end

-- The script's tally, written once at its end: totals for ever, and the 10 s bucket of NOW.
-- `shape` holds what is told apart by job type, `durations` how often which class came by kind and type.
local tally = {}
local shape = {}
local durations = { wait = {}, run = {} }

local function count(name, n)
  tally[name] = (tally[name] or 0) + (n or 1)
end

-- The queue's first 100 job types are told apart, later ones are `other`.
local known_types = {}

local function known_type(K, name)
  if not known_types[name] then
    local is_known = redis.call('HEXISTS', K.types, name) == 1
    if not is_known and redis.call('HLEN', K.types) < 100 then
      redis.call('HSET', K.types, name, text(NOW))
      is_known = true
    end
    known_types[name] = is_known and name or 'other'
  end
  return known_types[name]
end

local function count_type(K, name, job_type, n)
  local field = name .. ':' .. known_type(K, job_type or 'unknown')
  shape[field] = (shape[field] or 0) + (n or 1)
end

-- Durations go into 16 classes: class c holds less than 2^c ms, the last one everything longer.
local function count_duration(K, kind, ms, job_type)
  local class, bound = 0, 1
  while class < 15 and ms >= bound do
    class, bound = class + 1, bound * 2
  end
  local types, name = durations[kind], known_type(K, job_type or 'unknown')
  local classes = types[name]
  if not classes then
    classes = {}
    types[name] = classes
  end
  classes[class] = (classes[class] or 0) + 1
end

-- For what only counts or wakes, after the writes: damaged or foreign data in its way must not hide
-- what the script has done. Any other inner error is raised, as everywhere.
local function spare(reply)
  local fault = type(reply) == 'table' and reply.err
  if fault and not (string.find(fault, 'WRONGTYPE', 1, true) or string.find(fault, 'integer', 1, true)
      or string.find(fault, 'overflow', 1, true)) then
    error(fault)
  end
  return reply
end

local function flush(K)
  for kind, types in pairs(durations) do
    for name, classes in pairs(types) do
      for class, n in pairs(classes) do
        shape[kind .. ':' .. class .. ':' .. name] = n
      end
    end
  end
  if next(tally) == nil and next(shape) == nil then
    return
  end
  local bucket = PREFIX .. 'stats:10:' .. text(math.floor(NOW / 10000))
  local is_new = false
  for name, n in pairs(tally) do
    spare(redis.pcall('HINCRBY', K.counts, name, text(n)))
    is_new = spare(redis.pcall('HINCRBY', bucket, name, text(n))) == n or is_new
  end
  for name, n in pairs(shape) do
    is_new = spare(redis.pcall('HINCRBY', bucket, name, text(n))) == n or is_new
  end
  if is_new then
    redis.call('PEXPIRE', bucket, 7200000)
  end
end

-- Raises if a set of the queue is of a foreign type, before anything is written: Lua has no rollback.
local SETS = { 'ready', 'running', 'scheduled', 'retrying', 'completed', 'cancelled', 'dead' }
local sets_checked = false

local function check_sets(K)
  if sets_checked then
    return
  end
  for _, name in ipairs(SETS) do
    if K[name] then
      redis.call('ZCARD', K[name])
    end
  end
  sets_checked = true
end

-- How many of `want` jobs pause, cap and rate let be claimed now; whether the queue is paused; and of
-- a queue with a rate what its bucket holds, and the rate per s. The cap counts the running set,
-- never a counter.
local function allowance(K, want)
  local meta = spare(redis.pcall('HMGET', K.meta, 'paused', 'max_running', 'rate', 'burst', 'tokens', 'tokens_at'))
  if meta[1] == '1' then
    return 0, true
  end
  local allowed, bucket, rate = want, nil, tonumber(meta[3] or '')
  if meta[2] then
    allowed = math.min(allowed, whole(meta[2]) - redis.call('ZCARD', K.running))
  end
  if rate then
    local burst = tonumber(meta[4]) or 1
    local since = math.max(0, NOW - (tonumber(meta[6]) or 0))
    bucket = math.min(burst, (tonumber(meta[5]) or burst) + since * rate / 1000)
    allowed = math.min(allowed, math.floor(bucket))
  end
  return math.max(0, allowed), false, bucket, rate
end

-- One token at most: it tells one idle worker that something can be claimed. A foreign key in its
-- place is left to the workers that wait on it, who fail loudly.
local function wake(K)
  if spare(redis.pcall('LLEN', K.wake)) == 0 then
    redis.call('RPUSH', K.wake, '1')
  end
end

-- An exchange leaves waking to its claim, which knows what is left.
local wakes_later = false

-- Wakes a worker if a job could be claimed now.
local function wake_if_claimable(K)
  if not wakes_later and redis.call('ZCARD', K.ready) > 0 and allowance(K, 1) > 0 then
    wake(K)
  end
end

-- The named fields of a job, or nil and the kind of corruption. Any other inner error is raised.
local function read_record(id, ...)
  local values = redis.pcall('HMGET', record_key(id), 'state', ...)
  if values.err then
    if string.find(values.err, 'WRONGTYPE', 1, true) then
      return nil, 'record_of_wrong_type'
    end
    error(values.err)
  end
  if not values[1] then
    return nil, 'record_missing'
  end
  return values
end

-- What this script did to jobs that carry a trace and its answer tells only as a number: how, id, traceparent and
-- attempts of each. Part of an answer only if there is any.
local moves

local function tell_move(how, id, traceparent, attempts)
  if traceparent then
    moves = moves or {}
    local n = #moves
    moves[n + 1], moves[n + 2], moves[n + 3], moves[n + 4] = how, id, traceparent, attempts or '0'
  end
end

-- Adds an ended attempt to the job's history; the last 20 are kept.
local function remember(id, entry)
  local key = record_key(id) .. ':history'
  local pushed = redis.pcall('RPUSH', key, cmsgpack.pack(entry))
  if type(pushed) == 'table' and pushed.err then
    redis.call('UNLINK', key)
    redis.call('RPUSH', key, cmsgpack.pack(entry))
  end
  redis.call('LTRIM', key, -20, -1)
end

-- Frees a unique key if this job holds it.
local function free_unique(id, unique_key)
  if unique_key then
    local key = PREFIX .. 'unique:' .. unique_key
    if redis.call('GET', key) == id then
      redis.call('DEL', key)
    end
  end
end

-- The live job that holds a unique key against `id`, or nil: one that is gone or ended does not block.
local ENDED = { completed = true, cancelled = true, dead = true }

local function unique_holder(id, unique_key)
  local holder = redis.call('GET', PREFIX .. 'unique:' .. unique_key)
  if holder and holder ~= id then
    local record = read_record(holder)
    if record and not ENDED[record[1]] then
      return holder
    end
  end
  return nil
end

-- A time that is none counts as a day: raised in mid-script it would leave half a transition.
local function take_unique(id, unique_key, ttl)
  local ms = whole(ttl)
  redis.call('SET', PREFIX .. 'unique:' .. unique_key, id, 'PX', text(ms > 0 and ms or 86400000))
end

-- Puts a dead job into the group of its kind of error; beyond 1,000 groups into `other`.
-- The title is three lines: job type, error kind, message.
local function join_group(K, id, group, title)
  if redis.call('HEXISTS', K.groups, group) == 0 then
    if redis.call('HLEN', K.groups) >= 1000 then
      group, title = 'other', 'other\n\n'
    end
    redis.call('HSETNX', K.groups, group, title)
  end
  redis.call('ZADD', PREFIX .. 'dead:group:' .. group, NOW, id)
  return group
end

local function leave_group(K, id, group)
  if group then
    local key = PREFIX .. 'dead:group:' .. group
    redis.call('ZREM', key, id)
    if redis.call('EXISTS', key) == 0 then
      redis.call('HDEL', K.groups, group)
    end
  end
end

-- A follow-up that no queue will ever take: counted, and noted in the log of the job that wrote it.
local function refuse_follow_up(parent, note)
  count('follow_ups_refused')
  if read_record(parent) then
    local key = record_key(parent) .. ':log'
    redis.call('RPUSH', key, cmsgpack.pack({ 0, NOW, '', note }))
    redis.call('LTRIM', key, -200, -1)
  end
end

-- Removes every trace of the given jobs but their places in sets.
local function forget(ids)
  local doomed = {}
  for _, id in ipairs(ids) do
    local key = record_key(id)
    doomed[#doomed + 1] = key
    doomed[#doomed + 1] = key .. ':in'
    doomed[#doomed + 1] = key .. ':out'
    doomed[#doomed + 1] = key .. ':log'
    doomed[#doomed + 1] = key .. ':history'
    doomed[#doomed + 1] = key .. ':corrupt'
  end
  if #doomed > 0 then
    redis.call('UNLINK', unpack(doomed))
  end
end

-- Moves a job that cannot be read into the dead letters with the reason; the caller takes it out
-- of the set it was found in. A key of a wrong type is kept beside the new record as evidence.
local function quarantine(K, id, reason)
  local key = record_key(id)
  if reason == 'record_of_wrong_type' then
    redis.call('RENAME', key, key .. ':corrupt')
  end
  redis.call('HSETNX', key, 'type', 'unknown')
  redis.call('HSETNX', key, 'created_at', text(NOW))
  local job_type = redis.call('HGET', key, 'type')
  local group = join_group(K, id, reason .. ':' .. job_type, job_type .. '\n' .. reason .. '\n')
  free_unique(id, redis.call('HGET', key, 'unique_key'))
  redis.call('HSET', key, 'state', 'dead', 'reason', reason, 'fp', group, 'token', '', 'finished_at', text(NOW),
    'rev', text(whole(redis.call('HGET', key, 'rev')) + 1))
  redis.call('ZADD', K.dead, NOW, id)
  tell_move('dead:' .. reason, id, redis.call('HGET', key, 'traceparent'), redis.call('HGET', key, 'attempts'))
  count('quarantined')
  count('dead')
end
