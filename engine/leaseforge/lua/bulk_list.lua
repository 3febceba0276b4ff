-- bulk_list: a page of bulk operations, newest first, in any state or in one of some
--
-- What was aborted before it began is asked for as 'dropped', not as 'aborted'. With a limit of 0 they are counted.
--
-- KEYS[1] guard      none never exists
-- KEYS[2] operations zset id -> created
-- ARGV[1] offset int operations to pass over
-- ARGV[2] limit  int at most so many, 0 to 100; 0 only with states
-- ARGV[3...] state text
-- returns total, then per operation: id, fields and values
-- flags no-writes
-- uses _queue
local function bulk_list(K, A)
  local offset, limit, rows = tonumber(A[1]), tonumber(A[2]), {}
  local total, ids = redis.call('ZCARD', K.operations), {}
  if #A == 2 then
    ids = redis.call('ZREVRANGE', K.operations, offset, offset + limit - 1)
  else
    local wanted, met = {}, 0
    for i = 3, #A do
      wanted[A[i]] = true
    end
    for _, id in ipairs(redis.call('ZREVRANGE', K.operations, 0, -1)) do
      local values = spare(redis.pcall('HMGET', PREFIX .. 'bulk:' .. id, 'state', 'run'))
      local state = values[1] == 'aborted' and whole(values[2]) == 0 and 'dropped' or values[1]
      if state and wanted[state] then
        met = met + 1
        if met > offset and #ids < limit then
          ids[#ids + 1] = id
        end
      end
    end
    total = met
  end
  for _, id in ipairs(ids) do
    local fields = spare(redis.pcall('HGETALL', PREFIX .. 'bulk:' .. id))
    if #fields > 0 then  -- a foreign key has none
      rows[#rows + 1] = { id, fields }
    end
  end
  return { total, rows }
end
