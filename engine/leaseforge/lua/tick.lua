-- tick: one bounded sweep: recover, promote, trim, and the statistics rolled up
--
-- Any number of workers may sweep one queue: each expiry, due time and trim is handled once. It
-- also puts back a wake token that a worker took with it when it died.
--
-- KEYS[1] guard     none never exists, see _queue.lua
-- KEYS[2] meta      hash paused, sequence, fence, limits, sweep times
-- KEYS[3] counts    hash totals
-- KEYS[4] types     hash job types told apart in statistics
-- KEYS[5] ready     zset claimable jobs
-- KEYS[6] running   zset id -> lease expiry
-- KEYS[7] scheduled zset id -> due
-- KEYS[8] retrying  zset id -> due
-- KEYS[9] completed zset id -> finished
-- KEYS[10] cancelled zset id -> finished
-- KEYS[11] dead      zset id -> finished
-- KEYS[12] groups    hash dead groups: key -> title
-- KEYS[13] wake      list wake token
-- KEYS[14] outbox    hash follow-ups for other queues
-- ARGV[1] limit           int at most so many jobs for each of the three
-- ARGV[2] max_recoveries  int lost leases a job may have before it is poison
-- ARGV[3] backoff_base_ms int pause before the second recovery, doubled each time
-- ARGV[4] backoff_cap_ms  int longest pause
-- ARGV[5] spread          int 0 to 1000, thousandths of half a pause by which jobs come back apart
-- ARGV[6] age_ms          int completed and cancelled jobs older than this go
-- ARGV[7] keep            int so many completed, and so many cancelled ones are kept
-- ARGV[8] dead_age_ms     int dead jobs older than this go
-- ARGV[9] dead_keep       int so many dead ones are kept
-- returns recovered, dead, promoted, trimmed, ms until the next due job or -1, 1 to call again at once, outbox size; moves if any
-- flags allow-oom
-- uses _queue, _crash, recover, promote, trim, roll
local function tick(K, A)
  local recovered = recover(K, { A[1], A[2], A[3], A[4], A[5] })
  local promoted = promote(K, { A[1] })
  local trimmed = trim(K, { A[1], A[6], A[7], A[8], A[9] })
  roll(K, {})
  wake_if_claimable(K)

  local due = -1
  for _, key in ipairs({ K.scheduled, K.retrying }) do
    local first = redis.call('ZRANGE', key, 0, 0, 'WITHSCORES')[2]
    if first then
      local wait = math.max(0, tonumber(first) - NOW)
      due = due < 0 and wait or math.min(due, wait)
    end
  end
  local full = recovered[3] == 1 or promoted == tonumber(A[1]) or trimmed[2] == 1
  -- A foreign key in the outbox's place counts as one: whoever forwards from it says what is wrong.
  local left = spare(redis.pcall('HLEN', K.outbox))
  return { recovered[1], recovered[2], promoted, trimmed[1], math.ceil(due), full and 1 or 0,
    type(left) == 'number' and left or 1, moves }
end
