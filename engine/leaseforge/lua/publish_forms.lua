-- publish_forms: a worker says what the payloads of its tasks look like
--
-- Of more types than are kept, those that were published longest ago go. An empty form takes the type's own away.
--
-- KEYS[1] forms     hash type -> JSON Schema of its payloads
-- KEYS[2] published zset type -> when its form came last
-- ARGV[1] most int so many types are kept
-- ARGV[2...] type text | form text
-- returns how many are kept now
-- flags allow-oom
local function publish_forms(K, A)
  for i = 2, #A, 2 do
    if A[i + 1] == '' then
      redis.call('HDEL', K.forms, A[i])
      redis.call('ZREM', K.published, A[i])
    else
      redis.call('HSET', K.forms, A[i], A[i + 1])
      redis.call('ZADD', K.published, NOW_TEXT, A[i])
    end
  end
  local excess = redis.call('ZCARD', K.published) - tonumber(A[1])
  if excess > 0 then
    for _, name in ipairs(redis.call('ZRANGE', K.published, 0, excess - 1)) do
      redis.call('HDEL', K.forms, name)
      redis.call('ZREM', K.published, name)
    end
  end
  return redis.call('HLEN', K.forms)
end
