-- bulk_create: nothing -> a bulk operation that collects
--
-- From this instant on counts what it is about: nothing that comes later. The same id again
-- answers duplicate. One account has only a share of the places, so that it keeps nobody else from acting.
-- Operations whose time is over leave the lists here, as do the oldest ended ones of too many.
--
-- KEYS[1] guard      none never exists
-- KEYS[2] operation  hash the operation
-- KEYS[3] operations zset id -> created
-- KEYS[4] alive      zset id -> created, of those the runner has not closed
-- ARGV[1] id         text the operation
-- ARGV[2] user       text who asks for it
-- ARGV[3] most_own   int  so many of one user may be between collecting and their end
-- ARGV[4] most_alive int  so many of all may
-- ARGV[5] most       int  so many are listed
-- ARGV[6] keep_ms    int  how long it is kept after its last change
-- ARGV[7...] field text | value text
-- returns answer (ok, duplicate, refused), when refused the ids of the user's own that are not over, oldest first
-- flags allow-oom
-- uses _queue
local AT_END = { done = true, aborted = true, failed = true }

local function bulk_create(K, A)
  if redis.call('EXISTS', K.operation) == 1 then
    return { 'duplicate' }
  end
  local prefix = string.sub(K.operation, 1, -(#A[1] + 1))
  local alive, own = 0, {}
  for _, id in ipairs(redis.call('ZRANGE', K.alive, 0, -1)) do
    local values = spare(redis.pcall('HMGET', prefix .. id, 'state', 'created_by'))  -- of a foreign key nothing
    if not values[1] then
      redis.call('ZREM', K.alive, id)
    elseif not AT_END[values[1]] then
      alive = alive + 1
      if values[2] == A[2] then
        own[#own + 1] = id
      end
    end
  end
  if #own >= tonumber(A[3]) or alive >= tonumber(A[4]) then
    return { 'refused', unpack(own) }
  end
  local excess = redis.call('ZCARD', K.operations) - tonumber(A[5]) + 1
  for _, id in ipairs(redis.call('ZRANGE', K.operations, 0, 49)) do
    local values = spare(redis.pcall('HMGET', prefix .. id, 'state'))
    local state = values.err and 'foreign' or values[1]  -- another program's key is not ours to remove
    if not state or (excess > 0 and AT_END[state] and not redis.call('ZSCORE', K.alive, id)) then
      redis.call('UNLINK', prefix .. id)
      redis.call('ZREM', K.operations, id)
      excess = excess - 1
    end
  end
  for i = 7, #A, 2 do
    redis.call('HSET', K.operation, A[i], A[i + 1])
  end
  redis.call('HSET', K.operation, 'created_by', A[2], 'state', 'collecting', 'created_at', NOW_TEXT)
  redis.call('PEXPIRE', K.operation, A[6])
  redis.call('ZADD', K.operations, NOW_TEXT, A[1])
  redis.call('ZADD', K.alive, NOW_TEXT, A[1])
  return { 'ok' }
end
