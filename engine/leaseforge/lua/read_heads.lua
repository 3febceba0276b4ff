-- read_heads: the first job of some of a queue's sets
--
-- Ready in claim order, scheduled and retrying by due time, running by lease expiry, ended ones newest first.
--
-- KEYS[1] guard none never exists, see _queue.lua
-- ARGV[1...] set text a state
-- returns per set: score and member of its first entry; empty: it has none
-- flags no-writes
-- uses _queue
local ENDS = { completed = true, cancelled = true, dead = true }

local function read_heads(K, A)
  local heads = {}
  for i = 1, #A do
    local found = spare(redis.pcall(ENDS[A[i]] and 'ZREVRANGE' or 'ZRANGE', PREFIX .. A[i], 0, 0, 'WITHSCORES'))
    heads[i] = not found.err and #found > 0 and { found[2], found[1] } or {}  -- a foreign key holds no jobs
  end
  return heads
end
