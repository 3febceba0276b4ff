-- read_shapes: what is told apart by job type, added up over the last buckets of one resolution
--
-- KEYS[1] guard none never exists, see _queue.lua
-- ARGV[1] step    int seconds a bucket spans: 10, 300, 3600
-- ARGV[2] buckets int how many, 1 to 100
-- returns fields and sums: completed:<type>, failed:<type>, dead:<type>, wait:<class>:<type>, run:<class>:<type>
-- flags no-writes
-- uses _queue
local function read_shapes(K, A)
  local last = math.floor(NOW / 1000 / tonumber(A[1]))
  local sums, flat = {}, {}
  for bucket = last - tonumber(A[2]) + 1, last do
    local fields = redis.call('HGETALL', PREFIX .. 'stats:' .. A[1] .. ':' .. text(bucket))
    for i = 1, #fields, 2 do
      if string.find(fields[i], ':', 1, true) then
        sums[fields[i]] = (sums[fields[i]] or 0) + tonumber(fields[i + 1])
      end
    end
  end
  for field, sum in pairs(sums) do
    flat[#flat + 1] = field
    flat[#flat + 1] = text(sum)
  end
  return flat
end
