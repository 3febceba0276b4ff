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
  local function look(found)
    -- A damaged record is shown by the lists and settled by a claim; the queue's page must not fail of it.
    local values = read_record(entry_id(found[1]), 'ready_at')
    local at = values and whole(values[2]) or 0
    if at > 0 and (oldest < 0 or at < oldest) then
      oldest = at
    end
  end
  local bound = '-inf'
  for _ = 1, 16 do
    local found = redis.call('ZRANGE', K.ready, bound, '+inf', 'BYSCORE', 'LIMIT', 0, 1, 'WITHSCORES')
    if #found == 0 then
      return oldest
    end
    look(found)
    bound = '(' .. found[2]
  end
  local last = redis.call('ZRANGE', K.ready, -1, -1, 'WITHSCORES')
  look(redis.call('ZRANGE', K.ready, last[2], last[2], 'BYSCORE', 'LIMIT', 0, 1))
  return oldest
end

local function read_queue(K, A)
  if redis.call('EXISTS', K.meta) == 0 then
    return {}
  end
  local meta = read_key('meta', {}, 'HMGET', K.meta, 'paused', 'seq', 'max_running', 'rate', 'burst', 'keep_ms', 'keep',
    'dead_keep_ms', 'dead_keep')
  local limits, sizes = {}, {}
  for i = 3, 9 do
    limits[#limits + 1] = meta[i] or false
  end
  for _, state in ipairs({ 'ready', 'running', 'scheduled', 'retrying', 'completed', 'cancelled', 'dead' }) do
    sizes[#sizes + 1] = read_key(state, 0, 'ZCARD', K[state])
  end
  local totals = read_key('counts', {}, 'HGETALL', K.counts)
  local oldest = sizes[1] > 0 and oldest_ready(K) or -1
  return { NOW, meta[1] == '1' and 1 or 0, meta[2] or '0', oldest, sizes, totals, limits, foreign }
end
