-- roll: adds closed 10 s buckets to their 5 min and 1 h buckets
--
-- Each bucket is added once, in order; at most 60 a call, fewer when they are full. A queue's first
-- call begins with the oldest bucket that is kept: it may have been filled long before any worker
-- swept. Coarse buckets live 26 h and 8 days.
--
-- KEYS[1] guard none never exists, see _queue.lua
-- KEYS[2] meta  hash paused, sequence, fence, limits, sweep times
-- returns how many buckets were added
-- flags allow-oom
-- uses _queue
-- A bucket in which 100 job types were busy has up to 3,500 fields: one of those fills a call.
local MOST_ADDED = 2000

local function roll(K, A)
  local open = math.floor(NOW / 10000)
  local oldest = open - 720
  local first = math.max(whole(redis.call('HGET', K.meta, 'rolled')), oldest)
  local last = math.min(open, first + 60)
  if last <= first then
    return 0
  end
  local bucket, added = first, 0
  while bucket < last and added < MOST_ADDED do
    -- What cannot be read or added is passed over: a sweep must not stop at damaged statistics for ever.
    local flat = spare(redis.pcall('HGETALL', PREFIX .. 'stats:10:' .. text(bucket)))
    for _, step in ipairs({ { 300, 93600000 }, { 3600, 691200000 } }) do
      local coarse = PREFIX .. 'stats:' .. step[1] .. ':' .. text(math.floor(bucket * 10 / step[1]))
      local is_new = false
      for i = 1, #flat, 2 do
        local sum = spare(redis.pcall('HINCRBY', coarse, flat[i], flat[i + 1]))
        is_new = sum == tonumber(flat[i + 1]) or is_new
      end
      if is_new then
        redis.call('PEXPIRE', coarse, step[2])
      end
    end
    bucket, added = bucket + 1, added + #flat
  end
  redis.call('HSET', K.meta, 'rolled', text(bucket))
  return bucket - first
end
