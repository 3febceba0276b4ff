-- read_sizes: how many jobs some of a queue's sets hold
--
-- KEYS[1] guard none never exists, see _queue.lua
-- KEYS[2] meta  hash there is one if there is the queue
-- ARGV[1...] set text a state, or dead:group:<key>
-- returns now, then the size of each set; or empty
-- flags no-writes
-- uses _queue
local function read_sizes(K, A)
  if redis.call('EXISTS', K.meta) == 0 then
    return {}
  end
  local sizes = { NOW }
  for i = 1, #A do
    local size = spare(redis.pcall('ZCARD', PREFIX .. A[i]))
    sizes[#sizes + 1] = type(size) == 'number' and size or 0  -- a foreign key: whatever it holds, it is no jobs
  end
  return sizes
end
