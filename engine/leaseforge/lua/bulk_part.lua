-- bulk_part: what a queue keeps of a bulk operation
--
-- KEYS[1] guard  none never exists, see _queue.lua
-- KEYS[2] part   hash the queue's part of the operation, see _bulk.lua
-- KEYS[3] chosen list id and rev of the jobs left
-- ARGV[1] sample int so many of the jobs left are shown, 0 to 100
-- returns fields and values of the part, then per job shown: id, type or empty
-- flags no-writes
-- uses _queue
local function bulk_part(K, A)
  local rows = {}
  for _, entry in ipairs(redis.call('LRANGE', K.chosen, 0, tonumber(A[1]) - 1)) do
    if #rows == tonumber(A[1]) then
      break
    end
    local id = string.match(entry, '^(.*) %S+$')
    local values = read_record(id, 'type')
    rows[#rows + 1] = { id, values and values[2] or '' }
  end
  return { redis.call('HGETALL', K.part), rows }
end
