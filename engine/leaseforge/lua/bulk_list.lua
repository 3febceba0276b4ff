-- bulk_list: a page of bulk operations, newest first
--
-- KEYS[1] guard      none never exists
-- KEYS[2] operations zset id -> created
-- ARGV[1] offset int operations to pass over
-- ARGV[2] limit  int at most so many, 1 to 100
-- returns total, then per operation: id, fields and values
-- flags no-writes
-- uses _queue
local function bulk_list(K, A)
  local offset, rows = tonumber(A[1]), {}
  for _, id in ipairs(redis.call('ZREVRANGE', K.operations, offset, offset + tonumber(A[2]) - 1)) do
    local fields = redis.call('HGETALL', PREFIX .. 'bulk:' .. id)
    if #fields > 0 then
      rows[#rows + 1] = { id, fields }
    end
  end
  return { redis.call('ZCARD', K.operations), rows }
end
