-- read_queue: one queue's counts and age at one instant
--
-- The oldest ready job is looked for at the head of each of the first 16 priorities and of the
-- last one: inside a priority the sequence ascends.
--
-- KEYS[1] guard      none  never exists, see _queue.lua
-- KEYS[2] meta       hash  paused, sequence
-- KEYS[3] counts     hash  totals
-- KEYS[4] ready      zset  claimable jobs
-- KEYS[5] running    zset  id -> lease expiry
-- KEYS[6] scheduled  zset  id -> due
-- KEYS[7] retrying   zset  id -> due
-- KEYS[8] completed  zset  id -> finished
-- KEYS[9] cancelled  zset  id -> finished
-- KEYS[10] dead      zset  id -> finished
-- returns now, 1 if paused, sequence, oldest ready_at or -1, sizes of the seven sets in key order, totals, limits, names of foreign keys; or empty
-- flags no-writes
-- uses _queue
-- What stands in the place of one of our keys and is of another type is named instead of read: no list of
-- queues may fail of one.
local foreign = {}

local function read_key(name, otherwise, command, ...)
  local reply = spare(redis.pcall(command, ...))
  if type(reply) == 'table' and reply.err then
    foreign[#foreign + 1] = name
    return otherwise
  end
  return reply
end

local function oldest_ready(K)
  local oldest = -1
  local function look(entry)
    -- A damaged record is shown by the lists and settled by a claim; the queue's page must not fail of it.
    local value = spare(redis.pcall('HGET', record_key(entry_id(entry)), 'ready_at'))
    local at = type(value) == 'string' and whole(value) or 0
    if at > 0 and (oldest < 0 or at < oldest) then
      oldest = at
    end
  end
  local last = redis.call('ZRANGE', K.ready, -1, -1, 'WITHSCORES')[2]
  local found = redis.call('ZRANGE', K.ready, 0, 0, 'WITHSCORES')
  for _ = 1, 16 do
    look(found[1])
    if tonumber(found[2]) == tonumber(last) then
      return oldest
    end
    found = redis.call('ZRANGE', K.ready, '(' .. found[2], '+inf', 'BYSCORE', 'LIMIT', 0, 1, 'WITHSCORES')
  end
  look(redis.call('ZRANGE', K.ready, last, last, 'BYSCORE', 'LIMIT', 0, 1)[1])
  return oldest
end

local function read_queue(K, A)
  local meta = read_key('meta', {}, 'HMGET', K.meta, 'paused', 'seq', 'max_running', 'rate', 'burst', 'keep_ms', 'keep',
    'dead_keep_ms', 'dead_keep')
  if not meta[2] and redis.call('EXISTS', K.meta) == 0 then
    return {}
  end
  local limits, sizes = {}, {}
  for i = 3, 9 do
    limits[i - 2] = meta[i] or false
  end
  for i, state in ipairs({ 'ready', 'running', 'scheduled', 'retrying', 'completed', 'cancelled', 'dead' }) do
    sizes[i] = read_key(state, 0, 'ZCARD', K[state])
  end
  local totals = read_key('counts', {}, 'HGETALL', K.counts)
  local oldest = sizes[1] > 0 and oldest_ready(K) or -1
  return { NOW, meta[1] == '1' and 1 or 0, meta[2] or '0', oldest, sizes, totals, limits, foreign }
end
