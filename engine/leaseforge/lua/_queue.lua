-- What the scripts of one queue share: job keys, counting, the wake token, history, quarantine.
-- KEYS[1] is always the guard, which never exists: in a slot that is being moved the server
-- then answers TRYAGAIN instead of showing half a queue.
local PREFIX = string.sub(KEYS[1], 1, -6)

local function record_key(id)
  return PREFIX .. 'job:' .. id
end

-- A number out of a record. Damaged text counts as 0: raised in mid-script it would leave half a transition.
local function whole(value)
  local n = tonumber(value)
  return n and n > -9e15 and n < 9e15 and n or 0
end

local function ready_member(seq, id)
  return string.format('%016.0f', whole(seq)) .. id
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
local tally = {}
local shape = {}

local function count(name, n)
  tally[name] = (tally[name] or 0) + (n or 1)
end

-- Durations go into 16 classes: class c holds less than 2^c ms, the last one everything longer.
local function count_duration(kind, ms)
  local class = 0
  while class < 15 and ms >= 2 ^ class do
    class = class + 1
  end
  local name = kind .. ':' .. class
  shape[name] = (shape[name] or 0) + 1
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
  if next(tally) == nil and next(shape) == nil then
    return
  end
  local bucket = PREFIX .. 'stats:10:' .. text(math.floor(NOW / 10000))
  for name, n in pairs(tally) do
    spare(redis.pcall('HINCRBY', K.counts, name, text(n)))
    spare(redis.pcall('HINCRBY', bucket, name, text(n)))
  end
  for name, n in pairs(shape) do
    spare(redis.pcall('HINCRBY', bucket, name, text(n)))
  end
  redis.call('PEXPIRE', bucket, 7200000)
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

-- One token at most: it tells one idle worker that something can be claimed. A foreign key in its
-- place is left to the workers that wait on it, who fail loudly.
local function wake(K)
  if spare(redis.pcall('LLEN', K.wake)) == 0 then
    redis.call('RPUSH', K.wake, '1')
  end
end

-- Wakes a worker if a job could be claimed now.
local function wake_if_claimable(K)
  if redis.call('ZCARD', K.ready) > 0 and spare(redis.pcall('HGET', K.meta, 'paused')) ~= '1' then
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

-- A job's whole record as a table, or nil and the kind of corruption. For a short record one HGETALL
-- costs half of what HMGET of many fields does.
local function read_whole_record(id)
  local flat = redis.pcall('HGETALL', record_key(id))
  if flat.err then
    if string.find(flat.err, 'WRONGTYPE', 1, true) then
      return nil, 'record_of_wrong_type'
    end
    error(flat.err)
  end
  local record = {}
  for i = 1, #flat, 2 do
    record[flat[i]] = flat[i + 1]
  end
  if not record.state then
    return nil, 'record_missing'
  end
  return record
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
  redis.call('HSET', key, 'state', 'dead', 'reason', reason, 'token', '', 'finished_at', text(NOW),
    'rev', text(whole(redis.call('HGET', key, 'rev')) + 1))
  redis.call('ZADD', K.dead, NOW, id)
  count('quarantined')
  count('dead')
end
