-- retry: dead -> ready
--
-- An operator's replay of a dead job: failures and lost leases count anew, attempts, history and
-- fencing go on. With `replace` = 1 the job runs with another payload from now on.
--
-- KEYS[1] guard   none never exists, see _queue.lua
-- KEYS[2] meta    hash paused, sequence, fence, limits, sweep times
-- KEYS[3] counts  hash totals
-- KEYS[4] ready   zset claimable jobs
-- KEYS[5] running zset id -> lease expiry
-- KEYS[6] dead    zset id -> finished
-- KEYS[7] groups  hash dead groups: key -> title
-- KEYS[8] wake    list wake token
-- ARGV[1] id        text  the job
-- ARGV[2] operation text  the operator's action; the same one again answers already_done
-- ARGV[3] replace   int   1: `payload` replaces the job's payload
-- ARGV[4] payload   bytes the new payload
-- returns answer (ok, already_done, not_found, conflict), the job's state, holder of its unique key or empty; moves if any
-- flags allow-oom
-- uses _queue, _replay
local function retry(K, A)
  check_sets(K)
  return replay(K, A[1], A[2], { dead = true }, A[3] == '1' and A[4] or nil)
end
