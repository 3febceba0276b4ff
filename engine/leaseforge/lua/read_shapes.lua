-- read_shapes: what is told apart by job type, added up over a few buckets of one resolution
--
-- A bucket in which 100 job types were busy has 3,500 fields, so a span of time is read in several calls.
--
-- KEYS[1] guard none never exists, see _queue.lua
-- ARGV[1] step    int seconds a bucket spans: 10, 300, 3600
-- ARGV[2] newest  int the newest of the buckets (Unix time / step), or -1 for the one of now
-- ARGV[3] buckets int how many, 1 to 4
-- returns newest, fields and sums: completed:<type>, failed:<type>, dead:<type>, wait:<class>:<type>, run:<class>:<type>
-- flags no-writes
-- uses _queue
local function read_shapes(K, A)
  local newest = tonumber(A[2])
  if newest < 0 then
    newest = math.floor(NOW / 1000 / tonumber(A[1]))
  end
  local sums, flat = {}, {}
  for bucket = newest - tonumber(A[3]) + 1, newest do
    local fields = spare(redis.pcall('HGETALL', PREFIX .. 'stats:' .. A[1] .. ':' .. text(bucket)))
    if fields.err then  -- a foreign key: whatever it holds, it counts nothing
      fields = {}
    end
    for i = 1, #fields, 2 do
      if string.find(fields[i], ':', 1, true) then
        sums[fields[i]] = (sums[fields[i]] or 0) + whole(fields[i + 1])
      end
    end
  end
  for field, sum in pairs(sums) do
    flat[#flat + 1] = field
    flat[#flat + 1] = text(sum)
  end
  return { newest, flat }
end
