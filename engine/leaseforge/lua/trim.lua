-- trim: completed | cancelled | dead -> gone
--
-- Removes up to `limit` ended jobs that are older than their state's age or beyond its count. By
-- count only what ended more than 60 s ago goes: a lost enqueue reply may still be repeated. The
-- queue's own retention, if set, takes the place of what is passed.
--
-- KEYS[1] guard     none never exists, see _queue.lua
-- KEYS[2] meta      hash paused, sequence, fence, limits, sweep times
-- KEYS[3] counts    hash totals
-- KEYS[4] completed zset id -> finished
-- KEYS[5] cancelled zset id -> finished
-- KEYS[6] dead      zset id -> finished
-- KEYS[7] groups    hash dead groups: key -> title
-- ARGV[1] limit       int at most so many jobs, 1 to 200
-- ARGV[2] age_ms      int completed and cancelled jobs older than this go
-- ARGV[3] keep        int so many completed, and so many cancelled ones are kept
-- ARGV[4] dead_age_ms int dead jobs older than this go
-- ARGV[5] dead_keep   int so many dead ones are kept
-- returns how many were removed, 1 if the limit was reached
-- flags allow-oom
-- uses _queue
local function trim(K, A)
  check_sets(K)
  local left, removed = tonumber(A[1]), 0
  local own = redis.call('HMGET', K.meta, 'keep_ms', 'keep', 'dead_keep_ms', 'dead_keep')
  for _, state in ipairs({ 'completed', 'cancelled', 'dead' }) do
    local age = tonumber(state == 'dead' and (own[3] or A[4]) or (own[1] or A[2]))
    local keep = tonumber(state == 'dead' and (own[4] or A[5]) or (own[2] or A[3]))
    local excess = math.min(left, redis.call('ZCARD', K[state]) - keep)
    local cutoff = NOW - (excess > 0 and 60000 or age)
    local amount = excess > 0 and excess or left
    if left > 0 then
      local ids = redis.call('ZRANGE', K[state], '-inf', '(' .. text(cutoff), 'BYSCORE', 'LIMIT', 0, amount)
      if #ids > 0 then
        -- A member that is a job of another state is only dropped: what it names is alive elsewhere.
        local ended = {}
        for _, id in ipairs(ids) do
          local values = read_record(id, 'fp')
          if values and values[1] ~= state then
            count('dropped')
          else
            ended[#ended + 1] = id
            leave_group(K, id, values and values[2])
          end
        end
        redis.call('ZREM', K[state], unpack(ids))
        forget(ended)
        removed = removed + #ended
        left = left - #ids
      end
    end
  end
  if removed > 0 then
    count('trimmed', removed)
  end
  return { removed, left == 0 and 1 or 0 }
end
