-- read_stats: the last buckets of one resolution, oldest first
--
-- KEYS[1] guard none never exists, see _queue.lua
-- ARGV[1] step    int seconds a bucket spans: 10, 300, 3600
-- ARGV[2] buckets int how many, 1 to 720
-- ARGV[3...] field text
-- returns now, then per bucket its fields' values (nil: nothing happened)
-- flags no-writes
-- uses _queue
local function read_stats(K, A)
  local last = math.floor(NOW / 1000 / tonumber(A[1]))
  local fields, rows, nothing = { unpack(A, 3) }, {}, {}
  for i = 1, #fields do
    nothing[i] = false
  end
  for bucket = last - tonumber(A[2]) + 1, last do
    local values = spare(redis.pcall('HMGET', PREFIX .. 'stats:' .. A[1] .. ':' .. text(bucket), unpack(fields)))
    rows[#rows + 1] = values.err and nothing or values  -- a foreign key: whatever it holds, it counts nothing
  end
  return { NOW, rows }
end
