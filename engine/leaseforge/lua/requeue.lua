-- requeue: completed | cancelled | dead -> ready
--
-- An operator lets an ended job run once more, whatever its end was; its result is cleared.
--
-- KEYS[1] guard     none never exists, see _queue.lua
-- KEYS[2] meta      hash paused, sequence, fence, limits, sweep times
-- KEYS[3] counts    hash totals
-- KEYS[4] ready     zset claimable jobs
-- KEYS[5] running   zset id -> lease expiry
-- KEYS[6] completed zset id -> finished
-- KEYS[7] cancelled zset id -> finished
-- KEYS[8] dead      zset id -> finished
-- KEYS[9] groups    hash dead groups: key -> title
-- KEYS[10] wake      list wake token
-- ARGV[1] id        text the job
-- ARGV[2] operation text the operator's action; the same one again answers already_done
-- returns answer (ok, already_done, not_found, conflict), the job's state, holder of its unique key or empty; moves if any
-- flags allow-oom
-- uses _queue, _replay
local function requeue(K, A)
  check_sets(K)
  return replay(K, A[1], A[2], ENDED, nil)
end
