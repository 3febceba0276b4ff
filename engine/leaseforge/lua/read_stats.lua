-- read_stats: the last 10 s buckets of one queue, oldest first
--
-- KEYS[1] guard none never exists, see _queue.lua
-- ARGV[1] buckets int how many, 1 to 720
-- ARGV[2...] field text
-- returns now, then per bucket its fields' values (nil: nothing happened)
-- flags no-writes
-- uses _queue
local function read_stats(K, A)
  local last = math.floor(NOW / 10000)
  local fields, rows = { unpack(A, 2) }, {}
  for bucket = last - tonumber(A[1]) + 1, last do
    rows[#rows + 1] = redis.call('HMGET', PREFIX .. 'stats:10:' .. text(bucket), unpack(fields))
  end
  return { NOW, rows }
end
