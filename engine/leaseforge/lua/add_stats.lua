-- add_stats: stores buckets of all queues together
--
-- Values take the place of earlier ones: the same bucket written twice counts once.
--
-- KEYS[1] guard none never exists, see _queue.lua
-- ARGV[1] step   int seconds a bucket spans: 10, 300, 3600
-- ARGV[2] ttl_ms int how long the buckets are kept
-- ARGV[3...] bucket int | field text | value int
-- returns how many values were stored
-- flags allow-oom
-- uses _queue
local function add_stats(K, A)
  for i = 3, #A, 3 do
    local key = PREFIX .. 'stats:' .. A[1] .. ':' .. A[i]
    redis.call('HSET', key, A[i + 1], A[i + 2])
    redis.call('PEXPIRE', key, A[2])
  end
  return (#A - 2) / 3
end
