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
  local rows, sample = {}, tonumber(A[1])
  -- Without a sample nothing may be asked for: up to -1 would be the whole list.
  for _, entry in ipairs(sample > 0 and redis.call('LRANGE', K.chosen, 0, sample - 1) or {}) do
    local id = string.match(entry, '^(.*) %S+$')
    local values = read_record(id, 'type')
    rows[#rows + 1] = { id, values and values[2] or '' }
  end
  return { redis.call('HGETALL', K.part), rows }
end
